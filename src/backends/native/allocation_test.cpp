// After load, enqueue() allocates nothing. This program replaces operator new to count. oneDNN builds a table of arguments for each
// primitive inside dnnl_primitive_execute; the library that asks for them identifies these few small blocks.
#include "backends/native/native_backend.h"
#include "backends/native/test_network.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

namespace {

std::atomic<bool> counting{false};
std::atomic<int> ours{0}, library{0};
std::atomic<size_t> library_bytes{0};

void* counted(size_t bytes, size_t alignment, void* caller) {
  if (counting) {
    Dl_info info{};
    const bool by_library = dladdr(caller, &info) != 0 && info.dli_fname != nullptr && std::strstr(info.dli_fname, "libdnnl") != nullptr;
    ++(by_library ? library : ours);
    if (by_library) library_bytes += bytes;
  }
  void* memory = std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t bytes) { return counted(bytes, 16, __builtin_return_address(0)); }
void* operator new[](size_t bytes) { return counted(bytes, 16, __builtin_return_address(0)); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<size_t>(alignment), __builtin_return_address(0));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace deepgap {
namespace {

// Convolutions (also with a copied residual and a reorder), pools, a product, softmax and views.
Graph net() {
  testing::GraphBuilder b;
  const ValueId x = b.input({-1, 3, 12, 12});
  const ValueId y = b.node("Relu", {b.conv(x, 3, 16, 3)});
  const ValueId z = b.node("Mul", {y, b.node("Add", {b.conv(y, 16, 16, 3, 1, 16), y})});
  const ValueId turned = b.node("Transpose", {z}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
  const ValueId flat = b.node("Flatten", {b.node("GlobalAveragePool", {turned})});
  return b.finish({b.node("Softmax", {b.node("Gemm", {flat, b.weights({16, 5}), b.weights({5})})}), z});
}

class NativeAllocations : public ::testing::TestWithParam<int> {};

TEST_P(NativeAllocations, EnqueueMakesNone) {
  const testing::SummarizedModel model(net());
  NativeBackend backend;
  const int streams = GetParam();
  std::atomic<int> completions{0}, met{0};
  std::atomic<bool> meeting{true};
  LoadOptions options;
  options.batch_sizes = {1, 3};
  options.threads = 2;
  options.options["streams"] = std::to_string(streams);
  options.completion = [&](std::span<const Done> done) {
    completions += done[0].status == Status::ok ? 1 : 0;
    ++met;
    while (meeting && met % streams != 0) std::this_thread::yield();
  };
  const auto session = backend.load(model, options);
  const std::vector<float> a(432, 1.0F), b(432, 2.0F);
  const Shape shape{1, 3, 12, 12};
  std::vector<std::vector<TensorView>> samples;
  for (const auto* sample : {&a, &b}) samples.push_back({{DataType::f32, shape, reinterpret_cast<const std::byte*>(sample->data())}});
  session->stage(samples);
  const std::vector<uint32_t> one{1}, three{0, 1, 0};
  const auto both = [&] {
    session->enqueue(0, three, 1);
    session->drain();
    session->enqueue(0, one, 2);
    session->drain();
  };
  // The teams' threads start here. A stream that has answered waits for the others, so that each of them has computed each size.
  for (int i = 0; i < 50; ++i) {
    for (const std::span<const uint32_t> samples_of_query : {std::span<const uint32_t>(three), std::span<const uint32_t>(one)}) {
      for (int slot = 0; slot < streams; ++slot) session->enqueue(slot, samples_of_query, 0);
      session->drain();
    }
  }
  meeting = false;
  completions = 0;

  ours = library = 0;
  library_bytes = 0;
  counting = true;
  for (int i = 0; i < 10; ++i) both();
  counting = false;
  EXPECT_EQ(completions, 20);
  EXPECT_EQ(ours.load(), 0);
  const auto steps = session->layer_timings().size();
  EXPECT_LT(library_bytes.load(), 20 * steps * 2048);  // tables of arguments, no tensors
  RecordProperty("library_allocations", library.load());

  counting = true;
  ::operator delete(::operator new(8));
  counting = false;
  EXPECT_EQ(ours.load(), 1) << "the counter does not count";
}

INSTANTIATE_TEST_SUITE_P(Streams, NativeAllocations, ::testing::Values(1, 2));

}  // namespace
}  // namespace deepgap
