# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model without text of whoever made it, so that code made of the model is made of nothing but numbers and operators."""

import re
from collections.abc import Iterable

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from mlcb_gym.errors import PolicyError

WORD = re.compile(r"[\w.-]*", re.ASCII)
TEXT = re.compile(r"[\w ,.>-]*", re.ASCII)
"""Strings that operators take: words, and equations of sums."""
ATTRIBUTE = {"name", "type", "f", "i", "s", "t", "g", "floats", "ints", "strings"}
"""The fields of an attribute that are looked at; no other is kept."""


def plain(model: ModelProto) -> ModelProto:
    """Return a model that computes the same, with names of tensors of our own, and without documentation, metadata and names of nodes.

    Raises:
        PolicyError: an operator, an attribute or a string in it is no word.
    """
    opsets = [helper.make_opsetid(_word(each.domain), each.version) for each in model.opset_import]
    return helper.make_model(_Plain().graph(model.graph), opset_imports=opsets, ir_version=model.ir_version)


class _Plain:
    """The new names of the tensors of a model."""

    def __init__(self) -> None:
        self._names = {"": ""}

    def graph(self, graph: GraphProto) -> GraphProto:
        initializers = [self._tensor(tensor, self._name(tensor.name)) for tensor in graph.initializer]
        nodes, inputs, outputs = [self._node(node) for node in graph.node], self._values(graph.input), self._values(graph.output)
        return helper.make_graph(nodes, "model", inputs, outputs, initializers)

    def _name(self, name: str) -> str:
        return self._names.setdefault(name, f"t{len(self._names)}")

    def _values(self, values: Iterable[ValueInfoProto]) -> list[ValueInfoProto]:
        named = []
        for value in values:
            kind = value.type.tensor_type
            shape = [d.dim_value if d.HasField("dim_value") else None for d in kind.shape.dim] if kind.HasField("shape") else None
            named.append(helper.make_tensor_value_info(self._name(value.name), kind.elem_type, shape))
        return named

    def _node(self, node: NodeProto) -> NodeProto:
        made = helper.make_node(_word(node.op_type), [*map(self._name, node.input)], [*map(self._name, node.output)], domain=_word(node.domain))
        made.attribute.extend(map(self._attribute, node.attribute))
        return made

    def _attribute(self, attribute: AttributeProto) -> AttributeProto:
        made = AttributeProto()
        made.CopyFrom(attribute)
        made.ClearField("doc_string")
        _word(made.name)
        for text in (made.s, *made.strings):
            if not TEXT.fullmatch(text.decode(errors="replace")):
                raise PolicyError(f"the model's attribute {made.name} is {text[:80]!r}, expected words")
        if unknown := {field.name for field, _ in made.ListFields()} - ATTRIBUTE:
            raise PolicyError(f"the model's attribute {made.name} has {', '.join(sorted(unknown))}, expected numbers, words, tensors or graphs")
        if made.HasField("t"):
            made.t.CopyFrom(self._tensor(attribute.t, ""))
        if made.HasField("g"):
            made.g.CopyFrom(self.graph(attribute.g))
        return made

    def _tensor(self, tensor: TensorProto, name: str) -> TensorProto:
        if tensor.data_type == TensorProto.STRING:
            raise PolicyError("the model has a tensor of strings, expected numbers")
        return numpy_helper.from_array(numpy_helper.to_array(tensor), name)


def _word(text: str) -> str:
    if not WORD.fullmatch(text):
        raise PolicyError(f"the model has the name {text[:80]!r}, expected a word")
    return text
