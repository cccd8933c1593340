#include "engine/gpu/recorded_program.h"

#include "engine/gpu/kernel_file.h"

#include <algorithm>
#include <optional>

namespace deepgap::gpu {
namespace {

// Giving a recorded kernel another argument takes the launching thread 0.3 us.
constexpr size_t most_readers = 4;

int role_of(const Argument& argument) {
  return std::visit(
      [](const auto& of) {
        if constexpr (requires { of.role; })
          return of.role;
        else
          return -1;
      },
      argument);
}

// Returns which input a buffer is.
std::optional<size_t> input_of(const Program& program, BufferId id) {
  if (id < 0) return std::nullopt;
  const Buffer& buffer = program.plan.buffers.at(static_cast<size_t>(id));
  return buffer.kind == Buffer::Kind::input ? std::optional(buffer.external) : std::nullopt;
}

Launch stamp(const char* entry) {
  Launch launch;
  launch.entry = entry;
  launch.source = kernel_file("launch_order") + kernel_file("stamp");
  launch.overlaps_previous = true;
  launch.arguments = {BufferArgument{0}};
  return launch;
}

}  // namespace

RecordedProgram::RecordedProgram(const Instance& instance, const Program& program, const cuda::Stream& stream, cuda::QueryStamps* stamps)
    : instance_(instance), program_(program), readers_(instance.inputs()) {
  for (size_t i = 0; i < instance.inputs(); ++i) at_.push_back(instance.input(i));
  const auto bound_stamp = [&](const char* entry, const uint64_t* to) {
    return instance.bound(stamp(entry), [to](int) { return reinterpret_cast<cuda::Address>(to); });
  };
  std::optional<BoundLaunch> begin, end;
  if (stamps != nullptr) begin = bound_stamp("stamp_begin", stamps->begin()), end = bound_stamp("stamp_end", stamps->end());
  graph_ = cuda::CudaGraph::record(stream, [&] {
    if (begin) begin->run_by_itself(stream.get());
    instance.run(program, stream, [&](const Step& step, const Launch& launch, const BoundLaunch& bound) {
      find_readers(step, launch, bound, cuda::CudaGraph::last(stream));
    });
    if (end) end->run(stream.get());
  });
  keep_movable();
}

void RecordedProgram::find_readers(const Step& step, const Launch& launch, const BoundLaunch& bound, cuda::GraphNode node) {
  for (const Argument& argument : launch.arguments) {
    const int role = role_of(argument);
    const auto input = role < 0 ? std::nullopt : input_of(program_, step.roles.at(static_cast<size_t>(role)));
    if (!input) continue;
    auto& readers = readers_[*input];
    if (readers.empty() || readers.back().launch != &launch) readers.push_back({&step, &launch, bound, node});
  }
}

void RecordedProgram::keep_movable() {
  std::vector<bool> fixed(readers_.size(), false);
  const auto fix = [&](const std::vector<BufferId>& buffers) {
    for (BufferId id : buffers)
      if (const auto input = input_of(program_, id)) fixed[*input] = true;
  };
  for (const Step& step : program_.plan.steps) {
    fix(step.writes);
    const bool calls_library =
        std::any_of(step.launches.begin(), step.launches.end(), [](const Launch& l) { return l.library != nullptr; });
    if (calls_library) fix(step.reads);
  }
  for (size_t i = 0; i < readers_.size(); ++i) {
    const bool known = std::all_of(readers_[i].begin(), readers_[i].end(), [](const Reader& reader) { return reader.node != nullptr; });
    if (fixed[i] || !known || readers_[i].size() > most_readers) readers_[i].clear();
  }
}

void RecordedProgram::read_at(size_t input, cuda::Address address) {
  if (at_.at(input) == address) return;
  at_[input] = address;
  const auto address_of = [&](const Reader& reader) {
    return [&](int role) { return instance_.address_of(program_, reader.step->roles.at(static_cast<size_t>(role)), at_); };
  };
  try {
    for (Reader& reader : readers_[input]) {
      reader.bound.move(*reader.launch, address_of(reader));
      reader.bound.replace(graph_, reader.node);
    }
  } catch (...) {
    at_[input] = 0;  // given anew by the next query
    throw;
  }
}

}  // namespace deepgap::gpu
