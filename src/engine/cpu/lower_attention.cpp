#include "engine/cpu/attention_kernel.h"
#include "engine/cpu/operators.h"

#include <omp.h>

namespace deepgap {
namespace {

using dnnl::memory;

DataType stored_as(const memory::desc& desc) { return desc.get_data_type() == memory::data_type::bf16 ? DataType::bf16 : DataType::f32; }

}  // namespace

bool lower_attention(Lowering& lowering, const Operation& operation) {
  const Node& node = *operation.node;
  const Attention shape = attention_of(node);
  std::vector<BufferId> reads;
  const auto read = [&](const Attention::Operand& operand, memory::data_type type) {
    const auto desc = lowering.plain(node.inputs[operand.input], type);
    reads.push_back(lowering.read(0, node.inputs[operand.input], desc).buffer);
    return stored_as(desc);
  };
  AttentionCall call{.shape = shape};
  call.query = read(shape.query, lowering.number_type());
  call.key = read(shape.key, lowering.number_type());
  call.value = read(shape.value, lowering.number_type());
  if (shape.mask) read(*shape.mask, memory::data_type::f32);
  const auto target = lowering.plain(operation.output, lowering.stored_type(operation.output));
  call.result = stored_as(target);
  const int threads = omp_get_max_threads();  // as many as will run it
  const auto scratch = static_cast<int64_t>(attention_scratch_bytes(call, threads));
  std::vector<BufferId> writes{lowering.write(0, operation.output, target).buffer,
                               lowering.write(0, no_value, plain_desc(DataType::u8, Shape{scratch})).buffer};
  const auto run = [call, threads](std::span<std::byte* const> at) {
    const bool masked = call.shape.mask.has_value();
    const size_t result = masked ? 4 : 3;
    run_attention(call, {at[0], at[1], at[2], masked ? at[3] : nullptr, at[result], at[result + 1]}, threads);
  };
  const bool halves = attention_precision(call) == DataType::bf16;
  lowering.step(operation, run, std::move(reads), std::move(writes), halves ? "bf16" : "fp32");
  return true;
}

}  // namespace deepgap
