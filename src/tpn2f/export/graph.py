"""An ONNX graph as it is written, node by node."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from tpn2f.errors import ConfigError

OPSET = 18


class Graph:
    """An ONNX graph as it grows. A value is its name; constants and weights become initializers."""

    def __init__(self, name: str) -> None:
        try:
            import onnx
        except ImportError as error:
            raise ConfigError("export needs the extra of that name: pip install 'tpn2f[export]'") from error
        self.onnx, self.name = onnx, name
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.made = 0

    def take(self, name: str, kind: str, *shape: str | int) -> str:
        """An input of the graph; kinds are FLOAT, INT64 and BOOL."""
        code = getattr(self.onnx.TensorProto, kind)
        self.inputs.append(self.onnx.helper.make_tensor_value_info(name, code, shape))
        return name

    def give(self, name: str, value: str, kind: str, *shape: str | int) -> None:
        """An output of the graph."""
        code = getattr(self.onnx.TensorProto, kind)
        self.nodes.append(self.onnx.helper.make_node("Identity", [value], [name]))
        self.outputs.append(self.onnx.helper.make_tensor_value_info(name, code, shape))

    def weight(self, value: Tensor | np.ndarray | list[int] | float) -> str:
        """A constant of the graph."""
        array = value.detach().cpu().numpy() if isinstance(value, Tensor) else np.asarray(value)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        name = self._new("constant")
        self.weights.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """The one output of a new node."""
        return self.nodes_of(kind, 1, *inputs, **attributes)[0]

    def nodes_of(self, kind: str, count: int, *inputs: str, **attributes: Any) -> list[str]:
        outputs = [self._new(kind.lower()) for _ in range(count)]
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, outputs, **attributes))
        return outputs

    def linear(self, value: str, weight: Tensor, bias: Tensor | None = None) -> str:
        """value @ weight.T + bias."""
        product = self.node("MatMul", value, self.weight(weight.detach().T))
        return product if bias is None else self.node("Add", product, self.weight(bias))

    def finish(self) -> Any:
        helper = self.onnx.helper
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.weights)
        made = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="tpn2f", ir_version=10
        )
        self.onnx.checker.check_model(made, full_check=True)
        return made

    def _new(self, kind: str) -> str:
        self.made += 1
        return f"{self.name}_{kind}_{self.made}"


def lstm_gates(graph: Graph, gates: str, cell: str, width: int) -> tuple[str, str]:
    """The next cell and output of an LSTM whose gates are stacked: forget, input, output, candidate."""
    forget, write, show, new = graph.nodes_of("Split", 4, gates, graph.weight([width] * 4), axis=1)
    kept = graph.node("Mul", graph.node("Sigmoid", forget), cell)
    added = graph.node("Mul", graph.node("Sigmoid", write), graph.node("Tanh", new))
    cell = graph.node("Add", kept, added)
    return cell, graph.node("Mul", graph.node("Sigmoid", show), graph.node("Tanh", cell))
