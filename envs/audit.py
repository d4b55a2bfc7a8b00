"""Ask PyPI's advisories about every package of requirements-dev.lock; part of `make lint`.

Exits with 1 when one is known to be vulnerable. An index without advisories (a mirror, or none at
all) is no fault of the code: that is said, and passes.
"""

import json
import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).resolve().parent.parent / "requirements-dev.lock"


def main() -> int:
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(LOCK)]
    command += ["--disable-pip", "--require-hashes", "--format", "json"]
    command += ["--progress-spinner", "off", "--timeout", "15"]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except ValueError:
        print(f"pip-audit: no answer, nothing was audited: {done.stderr.strip()[-200:]}")
        return 0
    audited = [package for package in packages if "skip_reason" not in package]
    vulnerable = [package for package in audited if package["vulns"]]
    for package in vulnerable:
        for advisory in package["vulns"]:
            fixed = ", ".join(advisory["fix_versions"]) or "no version yet"
            print(f"{package['name']} {package['version']}: {advisory['id']}, mended in {fixed}")
    print(
        f"pip-audit: {len(audited)} of {len(packages)} packages audited; the index has no "
        f"advisories for the others; {len(vulnerable)} vulnerable"
    )
    return 1 if vulnerable else 0


if __name__ == "__main__":
    sys.exit(main())
