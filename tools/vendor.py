"""Makes the page's one library file, functions/api/page/vendor/preact-htm.js, from the npm registry.

Run by `make vendor`, and only to move to newer versions: what it makes is committed, so that a deployment
builds and fetches nothing.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).parents[1] / "functions" / "api" / "page"
LIBRARIES = {"preact": "11.2.0", "htm": "3.1.1"}
ESBUILD = "0.28.2"
ENTRY = """
import { h } from "preact";
import htm from "htm";
export { Component, Fragment, createContext, h, render } from "preact";
export * from "preact/hooks";
export const html = htm.bind(h);
"""


def main() -> int:
    npm = shutil.which("npm")
    if npm is None:
        print("npm is not installed.", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        workshop = Path(folder)
        packages = [f"{name}@{version}" for name, version in LIBRARIES.items()]
        quietly = ["--no-save", "--no-audit", "--no-fund", "--loglevel=error"]
        install = [npm, "install", *quietly, *packages, f"esbuild@{ESBUILD}"]
        subprocess.run(install, cwd=workshop, check=True)
        (workshop / "entry.js").write_text(ENTRY)
        modules = workshop / "node_modules"
        target = PAGE / "vendor" / "preact-htm.js"
        names = " and ".join(f"{name} {version}" for name, version in LIBRARIES.items())
        bundle = [
            str(modules / ".bin" / "esbuild"),
            "entry.js",
            "--bundle",
            "--format=esm",
            "--minify",
            "--target=es2022",
            f"--banner:js=/* {names}; licences beside this file; made by make vendor */",
            f"--outfile={target}",
            "--log-level=warning",
        ]
        subprocess.run(bundle, cwd=workshop, check=True)
        for name in LIBRARIES:
            shutil.copyfile(modules / name / "LICENSE", PAGE / "vendor" / f"{name}.LICENSE")
    print(f"{target}: {target.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
