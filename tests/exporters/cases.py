"""A case as the ONNX project keeps them: FOLDER/NAME/model.onnx and its test_data_set_0, with what the framework itself computed as outputs."""
import pathlib
import sys

import numpy as np
from onnx import numpy_helper


class Cases:
    def __init__(self, framework):
        self.framework = framework
        self.root = pathlib.Path(sys.argv[1])
        self.only = sys.argv[2] if len(sys.argv) > 2 else ""

    def wanted(self, name):
        return self.only in f"{self.framework}_{name}"

    def write(self, name, model, inputs, outputs):
        """`inputs` by name; `outputs` in the model's order, None for one that no tensor holds."""
        folder = self.root / f"{self.framework}_{name}"
        data = folder / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        (folder / "model.onnx").write_bytes(model.SerializeToString())
        for i, info in enumerate(model.graph.input):
            self.put(data / f"input_{i}.pb", inputs[info.name.split(":")[0]], info.name)
        for i, (info, value) in enumerate(zip(model.graph.output, outputs)):
            if value is not None:
                self.put(data / f"output_{i}.pb", value, info.name)
        print("made", folder.name, ", ".join(sorted({node.op_type for node in model.graph.node})))

    @staticmethod
    def put(path, value, name):
        value = np.asarray(value)
        path.write_bytes(numpy_helper.from_array(value if value.ndim == 0 else np.ascontiguousarray(value), name).SerializeToString())
