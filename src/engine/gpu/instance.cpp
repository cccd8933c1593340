#include "engine/gpu/instance.h"

#include <algorithm>

namespace deepgap::gpu {
namespace {

// Programs run before a query has brought samples, when they are recorded, and with places of a batch that nobody asked for: what they read
// then shall be numbers, and the same in every process.
void fill_with_zeros(const cuda::DeviceMemory& memory) {
  if (memory.bytes() == 0) return;
  cuda::check(cuda::driver().cuMemsetD8Async(memory.address(), 0, memory.bytes(), nullptr), "filling inputs");
  cuda::check(cuda::driver().cuStreamSynchronize(nullptr), "filling inputs");
}

// Returns whether kernels may write the output over the bus: each byte once, and none is read again.
bool is_written_once(const Network& network, size_t output) {
  return std::all_of(network.programs().begin(), network.programs().end(), [&](const auto& entry) {
    const GpuPlan& plan = entry.second.plan;
    const auto is_it = [&](BufferId id) {
      if (id < 0) return false;
      const Buffer& buffer = plan.buffers[static_cast<size_t>(id)];
      return buffer.kind == Buffer::Kind::output && buffer.external == output;
    };
    return std::all_of(plan.steps.begin(), plan.steps.end(), [&](const Step& step) {
      const bool writes = std::any_of(step.writes.begin(), step.writes.end(), is_it);
      return std::none_of(step.reads.begin(), step.reads.end(), is_it) && (!writes || step.launches.size() == 1);
    });
  });
}

// Beyond it TMA is faster than kernels that write over the bus.
constexpr size_t most_on_host = 64 * 1024;

}  // namespace

Instance::Output::Output(size_t size, bool on_host) : bytes(size) {
  if (on_host) {
    host = cuda::PinnedMemory(bytes);
  } else {
    device = cuda::DeviceMemory(bytes);
  }
}

Instance::Instance(Network& network) : network_(network), arena_(network.arena_bytes()) {
  std::vector<size_t> in, out;
  for (const auto& [batch, program] : network.programs())
    for (const Buffer& buffer : program.plan.buffers) {
      auto* sizes = buffer.kind == Buffer::Kind::input ? &in : buffer.kind == Buffer::Kind::output ? &out : nullptr;
      if (sizes == nullptr) continue;
      if (sizes->size() <= buffer.external) sizes->resize(buffer.external + 1, 0);
      (*sizes)[buffer.external] = std::max((*sizes)[buffer.external], buffer.bytes);
    }
  for (size_t bytes : in) fill_with_zeros(inputs_.emplace_back(bytes));
  for (size_t i = 0; i < out.size(); ++i) outputs_.emplace_back(out[i], out[i] <= most_on_host && is_written_once(network, i));
  for (const auto& [batch, program] : network.programs()) bind(program);
}

cuda::Address Instance::address_of(const Program& program, BufferId id, std::span<const cuda::Address> inputs) const {
  if (id < 0) return 0;
  const Buffer& buffer = program.plan.buffers.at(static_cast<size_t>(id));
  switch (buffer.kind) {
    case Buffer::Kind::constant:
      return program.constants.at(static_cast<size_t>(id));
    case Buffer::Kind::input:
      return inputs.empty() ? input(buffer.external) : inputs[buffer.external];
    case Buffer::Kind::output:
      return output(buffer.external);
    default:
      return arena_.address() + program.offsets.at(static_cast<size_t>(id));
  }
}

void Instance::bind(const Program& program) {
  Bound& bound = bound_[program.batch];
  for (const Step& step : program.plan.steps) {
    std::vector<BoundLaunch> launches;
    for (const Launch& launch : step.launches)
      launches.push_back(this->bound(launch, [&](int role) { return address_of(program, step.roles.at(static_cast<size_t>(role))); }));
    bound.steps.push_back(std::move(launches));
  }
}

// Rarely done: scratch memory is taken for it and given back.
void Instance::prepare(const Program& program, size_t input, cuda::Address from, const cuda::Stream& stream) {
  std::vector<cuda::DeviceMemory> between;
  cuda::Address read = from;
  const auto& steps = program.preparations.at(input);
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    cuda::Address written = this->input(input);
    if (i + 1 < steps.size()) {
      between.emplace_back(program.plan.buffers[static_cast<size_t>(step.writes[0])].bytes);
      written = between.back().address();
    }
    const auto address = [&](int role) {
      const BufferId id = step.roles.at(static_cast<size_t>(role));
      if (id == step.writes[0]) return written;
      const bool constant = id >= 0 && program.plan.buffers[static_cast<size_t>(id)].kind == Buffer::Kind::constant;
      return constant ? address_of(program, id) : read;
    };
    for (const Launch& launch : step.launches) bound(launch, address).run(stream.get());
    read = written;
  }
  stream.synchronize();
}

void Instance::run(const Program& program, const cuda::Stream& stream) const {
  run(program, stream, [](const Step&, const Launch&, const BoundLaunch&) {});
}

void Instance::run(const Program& program, const cuda::Stream& stream, const Queued& queued) const {
  const auto& steps = bound_.at(program.batch).steps;
  for (size_t i = 0; i < steps.size(); ++i)
    for (size_t k = 0; k < steps[i].size(); ++k) {
      steps[i][k].run(stream.get());
      queued(program.plan.steps[i], program.plan.steps[i].launches[k], steps[i][k]);
    }
}

std::vector<LayerTiming> Instance::timed(const Program& program, const cuda::Stream& stream) const {
  std::vector<LayerTiming> timings;
  std::vector<cuda::Event> events(1);
  events[0].record(stream);
  const auto& steps = bound_.at(program.batch).steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    for (const BoundLaunch& launch : steps[i]) launch.run(stream.get());
    events.emplace_back();
    events.back().record(stream);
    timings.push_back({program.plan.steps[i].name, program.plan.steps[i].op, 0});
  }
  stream.synchronize();
  for (size_t i = 0; i < timings.size(); ++i) timings[i].ns = events[i + 1].since_ns(events[i]);
  return timings;
}

void Instance::run_marked(const Program& program, const cuda::Stream& stream, const LayerMark& mark) const {
  const auto& steps = bound_.at(program.batch).steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    mark(program.plan.steps[i].name, program.plan.steps[i].op);
    for (const BoundLaunch& launch : steps[i]) launch.run_by_itself(stream.get());
  }
}

}  // namespace deepgap::gpu
