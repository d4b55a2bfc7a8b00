"""Whether people can read a page: its contrasts as Chromium computes them, and axe-core's rules.

axe-core isn't part of the repository: `npm install --no-save axe-core@4.14.1` in its folder has the
tests ask it too.
"""

from pathlib import Path
from typing import Any

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
VIOLATIONS = (
    "axe.run(document, {resultTypes: ['violations']})"
    ".then(found => found.violations.map(each => [each.id, each.nodes[0].html.slice(0, 200)]))"
)
PICTURES_LOADED = (
    "Promise.all([...document.images].map(each => each.decode().then(() => each.alt.length > 30)))"
    ".then(all => all.length > 0 && all.every(each => each))"
)

FAINT = """
(() => {  // texts whose contrast is under WCAG's AA: 4.5, and 3 where letters are large
  const colour = text => (text.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const opaque = parts => parts.length < 4 || parts[3] === 1;
  const light = parts => parts.slice(0, 3).reduce((sum, each, place) => {
    const part = each / 255;
    const linear = part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    return sum + [0.2126, 0.7152, 0.0722][place] * linear;
  }, 0);
  const found = new Set();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    let element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !element.checkVisibility()) continue;
    const style = getComputedStyle(element), size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    while (element && !opaque(colour(getComputedStyle(element).backgroundColor)))
      element = element.parentElement;
    const behind = element ? getComputedStyle(element).backgroundColor : "rgb(255, 255, 255)";
    const [low, high] = [light(colour(style.color)), light(colour(behind))].sort((a, b) => a - b);
    if ((high + 0.05) / (low + 0.05) < (large ? 3 : 4.5))
      found.add(`${texts.currentNode.data.trim().slice(0, 40)}: ${style.color} on ${behind}`);
  }
  return [...found];
})()
"""


def look(browser: Any, page: Path, width: int, scheme: str) -> None:
    """Open a page in a window so wide, a phone's under 600, in a light or dark scheme."""
    phone = width < 600
    browser.ask(
        "Emulation.setDeviceMetricsOverride",
        **{"width": width, "height": 850, "deviceScaleFactor": 1, "mobile": phone},
    )
    wanted = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.ask("Emulation.setEmulatedMedia", media="screen", features=wanted)
    browser.open(page.as_uri())
