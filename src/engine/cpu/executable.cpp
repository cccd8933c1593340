#include "engine/cpu/executable.h"

#include "base/rounding.h"
#include "engine/plan/memory_plan.h"

#include <deepgap/error.h>

#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace deepgap {

void Arena::reserve(size_t bytes) {
  if (bytes <= bytes_) return;
  constexpr size_t large_page = size_t{2} << 20;
  const size_t rounded = round_up(bytes, large_page);
  void* memory = ::operator new (rounded, std::align_val_t{large_page}, std::nothrow);
  if (memory == nullptr) throw Error(ErrorKind::out_of_memory, fmt::format("cannot allocate {} bytes for activations", rounded));
  madvise(memory, rounded, MADV_HUGEPAGE);  // fewer TLB misses where the kernel grants it
  data_ = std::shared_ptr<std::byte>(static_cast<std::byte*>(memory),
                                     [](std::byte* p) { ::operator delete (p, std::align_val_t{large_page}); });
  std::fill_n(data_.get(), rounded, std::byte{0});  // pages are there before the first run
  bytes_ = rounded;
}

Executable::Executable(CpuPlan plan, const dnnl::engine& engine) : plan_(std::move(plan)), engine_(engine) { plan_lifetimes(); }

void Executable::plan_lifetimes() {
  const size_t count = plan_.buffers.size();
  std::vector<Lifetime> lifetimes(count);
  std::vector<bool> used(count, false);
  const auto touch = [&](BufferId buffer, size_t step) {
    const auto b = static_cast<size_t>(buffer);
    if (!used[b]) lifetimes[b] = {plan_.buffers[b].bytes, step, step};
    used[b] = true;
    lifetimes[b].last = step;
  };
  for (size_t s = 0; s < plan_.steps.size(); ++s) {
    for (const auto& argument : plan_.steps[s].arguments) touch(argument.buffer, s);
    for (BufferId buffer : plan_.steps[s].reads) touch(buffer, s);
    for (BufferId buffer : plan_.steps[s].writes) touch(buffer, s);
  }
  std::vector<Lifetime> planned;
  std::vector<size_t> planned_buffers;
  for (size_t b = 0; b < count; ++b) {
    if (!used[b] || plan_.buffers[b].kind != Buffer::Kind::arena) continue;
    planned.push_back(lifetimes[b]);
    planned_buffers.push_back(b);
  }
  const auto plan = plan_memory(planned);
  offsets_.assign(count, 0);
  for (size_t i = 0; i < planned.size(); ++i) offsets_[planned_buffers[i]] = plan.offsets[i];
  arena_bytes_ = plan.bytes;
  min_arena_bytes_ = max_live_bytes(planned);
}

void Executable::bind(const Arena& arena) {
  addresses_.assign(plan_.buffers.size(), nullptr);
  for (size_t b = 0; b < plan_.buffers.size(); ++b) {
    const auto& buffer = plan_.buffers[b];
    if (buffer.kind == Buffer::Kind::arena) addresses_[b] = arena.data() + offsets_[b];
    if (buffer.kind == Buffer::Kind::constant) addresses_[b] = const_cast<std::byte*>(buffer.data.get());
  }
  externals_.clear();
  bound_ = std::vector<Bound>(plan_.steps.size());
  for (size_t s = 0; s < plan_.steps.size(); ++s) bind_step(plan_.steps[s], bound_[s]);
}

void Executable::bind_step(const Step& step, Bound& bound) {
  const auto external = [&](BufferId id, dnnl_memory_t memory, std::byte** address) {
    const auto& buffer = plan_.buffers[static_cast<size_t>(id)];
    const bool input = buffer.kind == Buffer::Kind::input;
    if (input || buffer.kind == Buffer::Kind::output) externals_.push_back({input, buffer.external, memory, address});
  };
  for (const auto& argument : step.arguments) {
    bound.memories.emplace_back(argument.desc, engine_, addresses_[static_cast<size_t>(argument.buffer)]);
    bound.arguments.push_back({argument.index, bound.memories.back().get()});
    external(argument.buffer, bound.memories.back().get(), nullptr);
  }
  if (!step.function) return;
  bound.buffers = step.reads;
  bound.buffers.insert(bound.buffers.end(), step.writes.begin(), step.writes.end());
  for (BufferId id : bound.buffers) bound.addresses.push_back(addresses_[static_cast<size_t>(id)]);
  for (size_t i = 0; i < bound.buffers.size(); ++i) external(bound.buffers[i], nullptr, &bound.addresses[i]);
}

void Executable::set_externals(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs) {
  for (const auto& external : externals_) {
    auto* address = external.input ? const_cast<std::byte*>(inputs[external.position]) : outputs[external.position];
    if (external.address != nullptr) {
      *external.address = address;
    } else {
      dnnl::error::wrap_c_api(dnnl_memory_set_data_handle(external.memory, address), "could not set an address");
    }
  }
}

void Executable::run_step(size_t index, const dnnl::stream& stream) {
  const Step& step = plan_.steps[index];
  const Bound& bound = bound_[index];
  if (step.function) {
    step.function(bound.addresses);
    return;
  }
  const auto status =
      dnnl_primitive_execute(step.primitive.get(), stream.get(), static_cast<int>(bound.arguments.size()), bound.arguments.data());
  if (status != dnnl_success)
    throw Error(status == dnnl_out_of_memory ? ErrorKind::out_of_memory : ErrorKind::refused,
                fmt::format("oneDNN failed with status {} in {} ({})", static_cast<int>(status), step.name, step.op));
}

void Executable::run(const dnnl::stream& stream, std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs) {
  set_externals(inputs, outputs);
  for (size_t i = 0; i < plan_.steps.size(); ++i) run_step(i, stream);
}

void Executable::run_timed(const dnnl::stream& stream, std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                           const std::function<Nanoseconds()>& now, std::span<LayerTiming> timings) {
  set_externals(inputs, outputs);
  Nanoseconds before = now();
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    run_step(i, stream);
    const Nanoseconds after = now();
    timings[i].ns += after - before;
    before = after;
  }
}

}  // namespace deepgap
