// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `fixed:N`, a runner that always gives the same advice: one class, and one line that registers it.
#include <mlcb/runner/ModelRunner.h>

#include <charconv>

namespace {

class FixedRunner final : public mlcb::ModelRunner {
public:
  explicit FixedRunner(int64_t Advice) : Advice(Advice) {}

  static mlcb::Expected<std::unique_ptr<ModelRunner>> open(std::string_view Text) {
    int64_t Advice;
    const auto [End, Failed] = std::from_chars(Text.data(), Text.data() + Text.size(), Advice);
    if (Failed != std::errc() || End != Text.data() + Text.size())
      return mlcb::fail(mlcb::ErrorKind::InvalidArgument, "runner 'fixed:" + std::string(Text) + "': expected fixed:NUMBER");
    return std::make_unique<FixedRunner>(Advice);
  }

  std::string_view task() const override { return ""; }
  std::string_view parameters() const override { return "{}"; }

private:
  mlcb::Expected<void> onBind() override { return {}; }
  mlcb::Expected<int64_t> choose(size_t) override { return Advice; }
  mlcb::Expected<double> value(size_t) override { return static_cast<double>(Advice); }

  int64_t Advice;
};

const mlcb::RunnerRegistration Registered("fixed", FixedRunner::open);

} // namespace
