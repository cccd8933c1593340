#include "engine/gpu/rows.h"
#include "engine/gpu/kernel_file.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap::gpu {
namespace {

// The numbers that a block keeps in registers; in a longer row v[j] is read where it is asked for, and written where it is set.
constexpr int64_t longest_kept = 16384;
// Axes in the order of memory, so that neighbours in a row are neighbours in memory as far as possible.
std::vector<size_t> in_order(const Operand& in, std::vector<size_t> axes) {
  std::sort(axes.begin(), axes.end(), [&](size_t a, size_t b) { return in.strides[a] > in.strides[b]; });
  return axes;
}

std::string unravel(const std::vector<size_t>& axes, const Shape& shape, const std::string& from, const std::string& prefix) {
  std::string text = fmt::format("{}I rest = {}; ", prefix, from);
  for (size_t k = axes.size(); k-- > 0;)
    text += k == 0 ? fmt::format("c{} = rest; ", axes[k]) : fmt::format("c{0} = rest % I({1}); rest /= I({1}); ", axes[k], shape[axes[k]]);
  return text;
}

}  // namespace

namespace {

std::string kept_text(const RowKernel& kernel, const std::string& read, const std::string& place) {
  return fmt::format(
      "  float v[E];\n#pragma unroll\n  for (int j = 0; j < E; ++j) {{\n    v[j] = 0;\n    if (valid(j)) {{ ROW_PLACE(threadIdx.x + j * T) "
      "v[j] = {}; }}\n  }}\n{}#pragma unroll\n  for (int j = 0; j < E; ++j)\n    if (valid(j)) {{ ROW_PLACE(threadIdx.x + j * T) out[{}] = "
      "{}; }}\n}}\n",
      read, kernel.text, place, store_text(kernel.out, Kind::number, "v[j]"));
}

// Loops over E go on for as long as the row is.
std::string text_in_memory(const RowKernel& kernel, const std::string& read, const std::string& place) {
  std::string loops = kernel.text;
  const std::string unrolled = "#pragma unroll\n";
  for (size_t at = loops.find(unrolled); at != std::string::npos; at = loops.find(unrolled, at)) loops.erase(at, unrolled.size());
  return fmt::format(
      "  const auto v = row_of([&](int j) -> float {{\n    if (!valid(j)) return 0.0f;\n    ROW_PLACE(threadIdx.x + j * T) return {};\n  "
      "}}, [&](int j, float x) {{\n    if (!valid(j)) return;\n    ROW_PLACE(threadIdx.x + j * T) out[{}] = {};\n  }});\n{}}}\n",
      read, place, store_text(kernel.out, Kind::number, "x"), loops);
}

// The properties of a row kernel that follow from its shape.
struct Rows {
  std::vector<size_t> kept, reduced;  // axes; those along a row in the order of memory
  int64_t count = 1;                  // numbers of a row
  int threads = 32;                   // threads that share one row
};

std::string text_of(const RowKernel& kernel, const std::string& entry, const Rows& r) {
  const Operand& in = kernel.in[0];
  const bool held = r.count <= longest_kept;
  const int64_t each = std::max<int64_t>((r.count + r.threads - 1) / r.threads, 1);
  std::string text = fmt::format("typedef long long I;\n#define T {}\n#define E {}\n{}{}", r.threads, each, generated_prelude(),
                                 kernel_file("over_block"));
  if (!held) text += kernel_file("row_in_memory");
  text += fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}(", r.threads, entry);
  for (size_t i = 0; i < kernel.in.size(); ++i) text += fmt::format("const {}* x{}, ", c_type(kernel.in[i].form.element), i);
  text += fmt::format("{}* out) {{\n  let_next_begin();\n  wait_for_previous();\n  const long long count = {};\n",
                      c_type(kernel.out.form.element), r.count);
  for (size_t axis = 0; axis < in.shape.size(); ++axis) text += fmt::format("  I c{} = 0;\n", axis);
  if (!r.kept.empty()) text += "  { " + unravel(r.kept, in.shape, "blockIdx.x", "") + "}\n";
  text += fmt::format("#define ROW_PLACE(k) {{ {}}}\n", r.reduced.empty() ? "" : unravel(r.reduced, in.shape, "(k)", ""));
  text += "#define valid(j) (threadIdx.x + (j) * T < count)\n";
  const std::string read = convert_text(kind_of(in.form.element), Kind::number, element_here(kernel.in, 0, in.shape));
  std::string place;
  for (size_t axis = 0; axis < in.shape.size(); ++axis)
    place += fmt::format("{}c{} * I({})", axis == 0 ? "" : " + ", axis, kernel.out.strides[axis]);
  if (place.empty()) place = "0";
  text += held ? kept_text(kernel, read, place) : text_in_memory(kernel, read, place);
  return text;
}

}  // namespace

Form row_form(const Operand& in, const Shape& shape, Element element) {
  if (in.form.channels_last && channels_last_form(element, shape).pitch == shape[1]) return channels_last_form(element, shape);
  return plain_form(element, shape);
}

Launch row_kernel(const std::string& stem, const RowKernel& kernel) {
  const Operand& in = kernel.in[0];
  std::vector<size_t> kept;
  for (size_t axis = 0; axis < in.shape.size(); ++axis)
    if (std::find(kernel.reduced.begin(), kernel.reduced.end(), axis) == kernel.reduced.end()) kept.push_back(axis);
  const auto reduced = in_order(in, kernel.reduced);
  int64_t count = 1, rows = 1;
  for (size_t axis : reduced) count *= in.shape[axis];
  for (size_t axis : kept) rows *= in.shape[axis];
  const int threads = count <= 256 ? 32 : count <= 1024 ? 128 : count <= longest_kept ? 256 : 512;
  const std::string entry = kernel_name(stem);
  Launch launch = launch_over(entry, text_of(kernel, entry, {std::move(kept), reduced, count, threads}), 1, kernel.in.size() + 1,
                              static_cast<unsigned>(threads));
  launch.grid = {static_cast<unsigned>(std::max<int64_t>(rows, 1)), 1, 1};
  return launch;
}

}  // namespace deepgap::gpu
