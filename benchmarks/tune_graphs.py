"""Rewrites the graphs of the trained models into what onnxruntime runs quickest; the weights stay as they are.

    uv run --with onnx benchmarks/tune_graphs.py TRAINED [--write]

TRAINED holds embed/model_int8.onnx and judge/model_int8.onnx as training left them. Prints the CPU time of both graphs
side by side, text by text, and how far their outputs lie apart; `--write` puts the tuned ones into the package. What is
changed, and what each change gains, stands in docs/decisions/0008.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
# It needs `onnx`, which nothing else here does.

import argparse
import hashlib
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from tokenizers import Tokenizer

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGE = REPOSITORY / "src" / "askbook" / "models"
PROSE = REPOSITORY / "examples" / "physical-ai-book" / "docs"
MICROSOFT = "com.microsoft"
FILE = "model_int8.onnx"
WIDTH = 384
HEADS = 12
EPSILON = 1e-12
CHARACTERS = 1100
"""Of a measured text: about a chunk."""


class Graph:
    """A trained graph, its layers written anew."""

    def __init__(self, path: Path, *, pooled: bool) -> None:
        self.model = onnx.load(path)
        self.pooled = pooled
        self.weights = {w.name: numpy_helper.to_array(w) for w in self.model.graph.initializer}
        self.nodes: list[Any] = []

    def tuned(self) -> Any:
        """The model with its layers rewritten; before and after them nothing changes."""
        nodes = list(self.model.graph.node)
        first = next(i for i, n in enumerate(nodes) if n.op_type == "DynamicQuantizeLinear")
        last = max(i for i, n in enumerate(nodes) if n.op_type == "SkipLayerNormalization")
        layers = sum(n.op_type == "QAttention" for n in nodes)
        self.weights |= {
            "first": np.array([0], np.int64),
            "second": np.array([1], np.int64),
            "along_text": np.array([1], np.int64),
            "unmasked": np.array(1, np.int32),
        }
        self.nodes = nodes[:first]
        self._put("ReduceMin", ["m32"], "least_mask", keepdims=0)
        self._put("Equal", ["least_mask", "unmasked"], "alone")
        state = nodes[first].input[0]
        for layer in range(layers):
            state = self._layer(f"l{layer}_", state, only_first=self.pooled and layer == layers - 1)
        for node in nodes[last + 1 :]:
            node.input[:] = [
                state if name == nodes[last].output[0] else name for name in node.input
            ]
            self.nodes.append(node)
        return self._assembled()

    def _layer(self, name: str, state: str, *, only_first: bool) -> str:
        """Attention and feed-forward of one layer; where only the first token is read on, only it is computed."""
        asked = state
        if only_first:
            asked = self._put("Slice", [state, "first", "second", "along_text"], f"{name}asked")
        parts = [
            self._matmul(
                text, f"{name}qw", f"{name}qb", f"{name}{part}", i * WIDTH, (i + 1) * WIDTH
            )
            for i, (part, text) in enumerate((("q", asked), ("k", state), ("v", state)))
        ]
        attended = self._attention(parts, f"{name}a")
        attended = self._matmul(attended, f"{name}aow", f"{name}aob", f"{name}ao")
        middle = self._normalised(attended, asked, f"{name}al")
        return self._normalised(self._feed_forward(name, middle), middle, f"{name}fl")

    def _attention(self, parts: list[str], out: str) -> str:
        """Without a mask, which is how one text alone comes, a much quicker kernel runs."""

        def branch(name: str, inputs: list[str]) -> Any:
            node = helper.make_node(
                "MultiHeadAttention", inputs, [name], domain=MICROSOFT, num_heads=HEADS
            )
            result = helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)
            return helper.make_graph([node], name, [], [result])

        return self._put(
            "If",
            ["alone"],
            out,
            then_branch=branch(f"{out}_alone", parts),
            else_branch=branch(f"{out}_masked", [*parts, "", "m32"]),
        )

    def _feed_forward(self, name: str, state: str) -> str:
        kept = self.weights.get(f"{name}f2ow")
        wide = self.weights[f"{name}f1w_quantized"].shape[1]
        if kept is None:
            inner = self._matmul(state, f"{name}f1w", f"{name}f1b", f"{name}f1")
            inner = self._put("Gelu", [inner], f"{name}g", domain=MICROSOFT)
            return self._matmul(inner, f"{name}f2w", f"{name}f2b", f"{name}f2")
        # The last units have outliers and stay in full precision from here on.
        border = wide - kept.shape[0]
        plain = self._matmul(state, f"{name}f1w", f"{name}f1b", f"{name}f1p", 0, border)
        exact = self._matmul(state, f"{name}f1w", f"{name}f1b", f"{name}f1e", border, wide)
        plain = self._put("Gelu", [plain], f"{name}gp", domain=MICROSOFT)
        exact = self._put("Gelu", [exact], f"{name}ge", domain=MICROSOFT)
        plain = self._matmul(plain, f"{name}f2w", f"{name}f2b", f"{name}f2p")
        exact = self._put("MatMul", [exact, f"{name}f2ow"], f"{name}f2e")
        return self._put("Add", [plain, exact], f"{name}f2")

    def _normalised(self, state: str, skipped: str, name: str) -> str:
        """`Sum`, because onnxruntime would put an `Add` back into its slow SkipLayerNormalization."""
        added = self._put("Sum", [state, skipped], f"{name}_sum")
        return self._put(
            "LayerNormalization",
            [added, f"{name}w", f"{name}b"],
            f"{name}_out",
            axis=-1,
            epsilon=EPSILON,
        )

    def _matmul(
        self, state: str, weight: str, bias: str, out: str, start: int = 0, end: int | None = None
    ) -> str:
        """`state` times these columns of an int8 weight, and the bias, in one operation."""
        names = [f"{weight}_quantized", f"{weight}_scale", f"{weight}_zero_point", bias]
        if end is not None:
            cut = [f"{name}:{start}" for name in names]
            for name, part in zip(names, cut, strict=True):
                self.weights[part] = np.ascontiguousarray(self.weights[name][..., start:end])
            names = cut
        return self._put("DynamicQuantizeMatMul", [state, *names], out, domain=MICROSOFT)

    def _put(self, kind: str, inputs: list[str], out: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [out], **attributes))
        return out

    def _assembled(self) -> Any:
        graph = self.model.graph
        used = {name for node in self.nodes for name in node.input}
        del graph.node[:], graph.initializer[:]
        graph.node.extend(self.nodes)
        graph.initializer.extend(
            numpy_helper.from_array(w, name) for name, w in self.weights.items() if name in used
        )
        return self.model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trained", type=Path, help="the folder with embed/ and judge/ as trained")
    parser.add_argument(
        "--write", action="store_true", help="put the tuned graphs into the package"
    )
    options = parser.parse_args()
    for name in ("embed", "judge"):
        trained = options.trained / name / FILE
        # The embedding is the first token's state; the judge also points at words.
        model = Graph(trained, pooled=name == "embed").tuned().SerializeToString(deterministic=True)
        with tempfile.TemporaryDirectory() as folder:
            tuned = Path(folder) / FILE
            tuned.write_bytes(model)
            _compare(name, trained, tuned)
        print(f"{name}: sha256 {hashlib.sha256(model).hexdigest()}")
        if options.write:
            (PACKAGE / name / FILE).write_bytes(model)


def _compare(name: str, trained: Path, tuned: Path) -> None:
    """Both graphs on the same texts, in turn: CPU time, and how far the outputs lie apart."""
    sessions = {"trained": _session(trained), "tuned": _session(tuned)}
    tokenizer = Tokenizer.from_file(str(PACKAGE / name / "tokenizer.json"))
    tokenizer.no_padding()
    taken = dict.fromkeys(sessions, 0.0)
    apart: list[float] = []
    for text in _texts():
        ids = np.asarray([tokenizer.encode(text).ids[:384]], np.int64)
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        if name == "judge":
            given["token_type_ids"] = (np.arange(ids.size) > 12).astype(np.int64)[None]
        outputs: list[Any] = []
        for kind, session in sessions.items():
            started = time.thread_time()
            outputs.append(session.run(None, given)[0][0])
            taken[kind] += time.thread_time() - started
        a, b = outputs
        apart.append(1 - float(a @ b) if name == "embed" else float(np.abs(a - b).max()))
    ratio = taken["tuned"] / taken["trained"]
    print(
        f"{name}: {taken['tuned']:.2f} s against {taken['trained']:.2f} s as trained: × {ratio:.2f}; "
        f"{'cosine distance' if name == 'embed' else 'logits'} apart: "
        f"mean {np.mean(apart):.4f}, at most {max(apart):.4f}"
    )


def _session(path: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _texts() -> list[str]:
    prose = " ".join(p.read_text(encoding="utf-8") for p in sorted(PROSE.rglob("*.md*")))
    return [
        prose[i : i + CHARACTERS] for i in range(0, min(len(prose), 60 * CHARACTERS), CHARACTERS)
    ]


if __name__ == "__main__":
    main()
