# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures of the diagrams in docs/, for the site: it draws none by itself, for that takes a script from another host.

    python -m scripts.diagrams

writes ``docs/diagrams/DIGEST.svg`` for each Mermaid block, named by the block's own digest, and removes those of blocks that are gone. It takes npm
and Debian's Chromium.
"""

import re
import subprocess
import tempfile
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = "docs/diagrams"
MERMAID = "mermaid@11.4.1"
BLOCK = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGE = """<!doctype html><meta charset="utf-8"><script src="{script}"></script><pre class="mermaid">{text}</pre>
<script>
mermaid.initialize({{startOnLoad: true, theme: "neutral", htmlLabels: false, flowchart: {{htmlLabels: false, wrappingWidth: 320}}}});
</script>"""
RENDER_SECONDS = 60.0


def picture(text: str) -> str:
    """Return the path of the picture of a diagram, in the tree."""
    return f"{FOLDER}/{sha256(text.encode()).hexdigest()[:12]}.svg"


def drawn() -> list[str]:
    """Return the paths of the pictures that there are."""
    return [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / FOLDER).glob("*.svg"))]


def main() -> None:
    """Draw all diagrams anew."""
    texts = [text for file in sorted(ROOT.glob("docs/**/*.md")) for text in BLOCK.findall(file.read_text())]
    with tempfile.TemporaryDirectory() as work:
        subprocess.run(["npm", "install", "--silent", "--prefix", work, MERMAID], check=True)
        svgs = {picture(text): _draw(text, Path(work)) for text in texts}
    (ROOT / FOLDER).mkdir(exist_ok=True)
    for old in drawn():
        (ROOT / old).unlink()
    for path, svg in svgs.items():
        (ROOT / path).write_text(svg)
        print(path)


def _draw(text: str, work: Path) -> str:
    """Return the SVG that Mermaid makes in a browser.

    Raises:
        ValueError: it made none.
    """
    page = work / "page.html"
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    page.write_text(PAGE.format(script=work / "node_modules/mermaid/dist/mermaid.min.js", text=escaped))
    browser = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom", page.as_uri()]
    dom = subprocess.run(browser, capture_output=True, text=True, check=True, timeout=RENDER_SECONDS).stdout
    found = re.search(r"<svg .*?</svg>", dom, re.DOTALL)
    if found is None or "Syntax error" in found[0]:
        raise ValueError(f"no picture of the diagram {text.splitlines()[0]!r}")
    svg = re.sub(r"<br>", "<br/>", found[0])
    return svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) if "xmlns=" not in svg.split(">")[0] else svg


if __name__ == "__main__":
    main()
