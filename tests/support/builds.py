# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds as a user has them: clang, with a configuration or without."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from mlcb_gym import toolchain

COROUTINE = """
#include <coroutine>
int printf(const char *, ...) asm("printf");
struct Squares {
  struct promise_type {
    int value;
    Squares get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int given) { value = given; return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> handle;
};
static Squares squares(int n) { for (int i = 0; i < n; ++i) co_yield i * i; }
int main() {
  auto all = squares(5).handle;
  for (all.resume(); !all.done(); all.resume()) printf("%d ", all.promise().value);
  all.destroy();
}
"""


def clang(config: Path | None, folder: Path, *options: str | Path, driver: str = "clang") -> subprocess.CompletedProcess[str]:
    configured = [] if config is None else [f"--config={config}"]
    return run([toolchain.tool(driver), *configured, *options], folder)


def run(command: Sequence[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done
