#include "decoder_host.h"

#include "engine/gpu/kernel_file.h"
#include "engine/gpu/kernel_text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap::gpu {
namespace {

// Instead of decoder_words.cuh, which is assembly.
constexpr const char* words = R"(
struct Any {
  void* p;
  template <typename P> operator P*() const { return *(P**)p; }
  operator int() const { return *(int*)p; }
};
static float __expf(float x) { return expf(x); }
static float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static void __threadfence() {}
static float __ldcg(const float* from) { return *from; }
static void load_streamed(unsigned (&words)[4], const void* from) { load_words<4>(from, words); }
template <class T> static unsigned less_pair(T, unsigned a, unsigned b) {
  return T::pair(T::get(a, 0) - T::get(b, 0), T::get(a, 1) - T::get(b, 1));
}
static unsigned take_ticket(unsigned* counter) { return (*counter)++; }
)";

void replace_all_of(std::string& text, const std::string& what, const std::string& with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) text.replace(at, what.size(), with);
}

void replace_first_of(std::string& text, const std::string& what, const std::string& with) {
  const size_t at = text.find(what);
  if (at == std::string::npos) throw Error(ErrorKind::internal, "a decoder's kernel text lacks: " + what.substr(0, 100));
  text.replace(at, what.size(), with);
}

// Counts the parameters of the entry's declaration.
int64_t parameters_of(const std::string& text, const std::string& entry) {
  const size_t at = text.find(entry + "("), macro = text.find("PRODUCT_KERNEL(" + entry);
  if (macro != std::string::npos) return 12;
  const size_t end = text.find(") {", at);
  return 1 + std::count(text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(end), ',');
}

}  // namespace

std::string decoder_host_text(std::string text, const std::vector<std::string>& entries, int number) {
  replace_first_of(text, kernel_prelude(), "");
  replace_first_of(text, kernel_file("decoder_words"), words);
  replace_all_of(text, "extern \"C\" __global__", "static");
  std::string all = fmt::format(
      "#undef PRODUCT\n#undef INFINITE\n#undef EPSILON\n#undef SCALE\n#undef PRODUCT_KERNEL\nnamespace n_{} {{\n{}\n}}\n", number, text);
  for (const std::string& entry : entries) {
    std::string arguments;
    for (int64_t i = 0; i < parameters_of(text, entry); ++i)
      arguments += fmt::format("{}n_{}::Any{{p[{}]}}", i == 0 ? "" : ", ", number, i);
    all += fmt::format(
        "extern \"C\" const char* run_{0}_{1}(const unsigned* grid, unsigned threads, void** p) {{ return run_blocks(grid, "
        "threads, [&] {{ n_{0}::{1}({2}); }}); }}\n",
        number, entry, arguments);
  }
  return all;
}

}  // namespace deepgap::gpu
