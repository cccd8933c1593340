// A slot of a Session on ONNX Runtime: its input and output buffers, and for each batch size the library's values over them, bound to the
// network once.
#pragma once

#include "backends/common/slot_buffer.h"
#include "backends/common/staging.h"
#include "backends/onnxruntime/ort_network.h"

#include <deepgap/tensor.h>

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace deepgap {

// Everything may throw OrtFailure or Error{input}. The network outlives the slot and stays where it is.
class OrtSlot {
 public:
  explicit OrtSlot(const OrtNetwork& network);

  void bind(int64_t batch);  // so that the first query of this size need not
  // Takes samples that lie one behind another where they are and copies others into the input buffers, computes them, and makes the
  // outputs visible: in this order, with the same batch.
  void gather(const Staging& staging, std::span<const uint32_t> samples);
  void run(int64_t batch);
  void show(int64_t batch);
  std::span<const TensorView> outputs() const { return views_; }
  int64_t buffer_bytes() const;

 private:
  // Inputs and output buffers as the library's values, for one batch size. An output whose size only the run knows has no value and no
  // shape here.
  struct Binding {
    std::vector<Shape> input_shapes, output_shapes;
    std::vector<OrtValueHandle> inputs, outputs;
    std::vector<const std::byte*> sources;  // where `inputs` are
    OrtIoBindingHandle io;                  // null: buffers are named in every run
  };
  Binding& binding(int64_t batch);
  OrtValueHandle value_over(const std::byte* data, DataType type, const Shape& shape) const;
  OrtIoBindingHandle io_binding(const Binding& binding) const;
  void bind_input(Binding& binding, size_t input, const std::byte* source) const;
  void forget_made(const Binding& binding) const;
  void run_bound(const Binding& binding);
  void run_named(const Binding& binding);
  TensorView view_made(size_t output);

  const OrtNetwork& network_;
  std::vector<const char*> input_names_, output_names_;
  std::vector<SlotBuffer> input_buffers_, output_buffers_;
  std::map<int64_t, Binding> bindings_;  // by batch
  std::vector<OrtValue*> in_, out_;      // arguments of a run that names its buffers
  std::vector<OrtValueHandle> made_;     // outputs that the library made in the last run
  std::vector<Shape> made_shapes_;       // beside made_
  std::vector<TensorView> views_;
};

}  // namespace deepgap
