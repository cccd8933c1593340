// For tests: a cuBLASLt that computes on the host what it is described, where FakeDriver's device memory lies, and launches a kernel
// "cublas_lt" for it. It refuses what the library would: descriptions that do not fit, too little workspace, memory that is not aligned.
//
//     FakeCublasLt fake;
//     const CublasLtStandIn library(fake.table());
//
// One at a time; what a test sets, it sets before the code under test runs.
#pragma once

#include "cuda/cublas_lt.h"
#include "cuda/fake_numbers.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace deepgap::cuda {

class FakeCublasLt {
 public:
  size_t version_number = 130100;             // its version
  int algorithms = 3;                         // number of algorithms that it offers
  size_t workspace_each = 512;                // algorithm i wants i times that
  bool computes = true;                       // else results stay as they are
  LtResult starts = 0, offers = 0, runs = 0;  // results that the functions return
  std::atomic<int> products{0}, asked{0}, opened{0}, closed{0};

  FakeCublasLt() { current() = this; }
  ~FakeCublasLt() { current() = nullptr; }
  FakeCublasLt(const FakeCublasLt&) = delete;
  FakeCublasLt& operator=(const FakeCublasLt&) = delete;

  const CublasLt& table() {
    table_.path = "/played/libcublasLt.so.13";
    table_.cublasLtGetVersion = [] { return current()->version_number; };
    table_.cublasLtGetStatusName = [](LtResult result) {
      return result == lt_not_supported ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS_SCRIPTED";
    };
    table_.cublasLtCreate = [](LtHandle* handle) {
      if (current()->starts != 0) return current()->starts;
      return ++current()->opened, give(handle, new int(0));
    };
    table_.cublasLtDestroy = [](LtHandle handle) { return ++current()->closed, delete reinterpret_cast<int*>(handle), 0; };
    table_.cublasLtMatmulDescCreate = [](LtOperation* operation, int sums, int scale) {
      return give(operation, new Operation{{}, sums, scale});
    };
    table_.cublasLtMatmulDescDestroy = [](LtOperation operation) { return delete of(operation), 0; };
    table_.cublasLtMatmulDescSetAttribute = [](LtOperation operation, int which, const void* value, size_t bytes) {
      return set(of(operation)->values, which, value, bytes);
    };
    table_.cublasLtMatrixLayoutCreate = [](LtLayout* layout, int type, uint64_t rows, uint64_t columns, int64_t pitch) {
      return give(layout, new Layout{type, rows, columns, static_cast<uint64_t>(pitch)});
    };
    table_.cublasLtMatrixLayoutDestroy = [](LtLayout layout) { return delete of(layout), 0; };
    table_.cublasLtMatmulPreferenceCreate = [](LtPreference* preference) { return give(preference, new Values); };
    table_.cublasLtMatmulPreferenceDestroy = [](LtPreference preference) { return delete reinterpret_cast<Values*>(preference), 0; };
    table_.cublasLtMatmulPreferenceSetAttribute = [](LtPreference preference, int which, const void* value, size_t bytes) {
      return set(*reinterpret_cast<Values*>(preference), which, value, bytes);
    };
    table_.cublasLtMatmulAlgoGetHeuristic = [](LtHandle, LtOperation operation, LtLayout a, LtLayout b, LtLayout c, LtLayout d,
                                               LtPreference preference, int most, LtFound* found, int* count) {
      return current()->offer(*of(operation), {of(a), of(b), of(c), of(d)}, *reinterpret_cast<Values*>(preference), most, found, count);
    };
    table_.cublasLtMatmul = [](LtHandle, LtOperation operation, const void* alpha, const void* a, LtLayout a_layout, const void* b,
                               LtLayout b_layout, const void* beta, const void* c, LtLayout c_layout, void* d, LtLayout d_layout,
                               const LtAlgorithm* algorithm, void* workspace, size_t workspace_bytes, StreamHandle stream) {
      const Matrices matrices{of(a_layout), of(b_layout), of(c_layout), of(d_layout)};
      return current()->multiply(*of(operation), matrices, {alpha, a, b, beta, c, d, workspace, workspace_bytes}, *algorithm, stream);
    };
    return table_;
  }

 private:
  using Values = std::map<int, std::vector<char>>;
  struct Operation {
    Values values;
    int sums, scale;
    template <typename T>
    T value(int which, T otherwise) const {
      const auto found = values.find(which);
      if (found != values.end()) std::memcpy(&otherwise, found->second.data(), sizeof(T));
      return otherwise;
    }
  };
  struct Layout {
    int type;
    uint64_t rows, columns, pitch;
  };
  struct Matrices {
    const Layout *a, *b, *c, *d;
  };
  struct Call {
    const void *alpha, *a, *b, *beta, *c;
    void *d, *workspace;
    size_t workspace_bytes;
  };

  static FakeCublasLt*& current() {
    static FakeCublasLt* instance = nullptr;
    return instance;
  }
  template <typename Handle>
  static LtResult give(Handle* handle, void* object) {
    *handle = reinterpret_cast<Handle>(object);
    return 0;
  }
  static Operation* of(LtOperation operation) { return reinterpret_cast<Operation*>(operation); }
  static Layout* of(LtLayout layout) { return reinterpret_cast<Layout*>(layout); }
  static LtResult set(Values& values, int which, const void* value, size_t bytes) {
    const auto* from = static_cast<const char*>(value);
    values[which].assign(from, from + bytes);
    return 0;
  }

  // Returns whether the library combines these types of sums, operands and result.
  static bool are_known(int sums, int operands, int result) {
    if (sums == lt_sums_i32) return operands == lt_i8 && result == lt_i32;
    if (sums == lt_sums_tf32) return operands == lt_f32 && result == lt_f32;
    if (operands == lt_e4m3) return result == lt_f32;
    return result == lt_f32 || (result == operands && (operands == lt_f16 || operands == lt_bf16));
  }
  static bool fits(const Operation& operation, const Matrices& m) {
    const auto epilogue = operation.value<uint32_t>(lt_epilogue, 1);
    const bool plain = epilogue == 1 || (epilogue & ~(lt_epilogue_relu | lt_epilogue_bias)) == 0;
    const bool bias =
        epilogue == 1 || (epilogue & lt_epilogue_bias) == 0 || operation.value<const void*>(lt_bias_pointer, nullptr) != nullptr;
    return operation.value<int32_t>(lt_transpose_a, 0) == lt_transposed && plain && bias && m.a->type == m.b->type &&
           are_known(operation.sums, m.a->type, m.d->type) && m.c->type == m.d->type &&
           operation.scale == (operation.sums == lt_sums_i32 ? lt_i32 : lt_f32) && m.a->rows == m.b->rows && m.d->rows == m.a->columns &&
           m.d->columns == m.b->columns && m.c->rows == m.d->rows && m.c->columns == m.d->columns;
  }

  LtResult offer(const Operation& operation, const Matrices& m, const Values& wishes, int most, LtFound* found, int* count) {
    ++asked;
    *count = 0;
    if (offers != 0) return offers;
    if (!fits(operation, m)) return lt_not_supported;
    size_t workspace = 0;
    std::memcpy(&workspace, wishes.at(lt_most_workspace).data(), sizeof(workspace));
    for (int i = 0; i < algorithms && i < most && static_cast<size_t>(i) * workspace_each <= workspace; ++i, ++*count)
      found[i] = {{{static_cast<uint64_t>(i)}}, static_cast<size_t>(i) * workspace_each, 0, 1.0F, {}};
    return *count > 0 ? 0 : lt_not_supported;
  }

  static bool is_aligned(const void* at) { return reinterpret_cast<uintptr_t>(at) % 16 == 0; }

  LtResult multiply(const Operation& operation, const Matrices& m, const Call& call, const LtAlgorithm& algorithm, StreamHandle stream) {
    ++products;
    if (runs != 0) return runs;
    const size_t workspace = algorithm.data[0] * workspace_each;
    if (!fits(operation, m) || call.workspace_bytes < workspace || (workspace > 0 && call.workspace == nullptr)) return lt_invalid_value;
    for (const void* at : {call.a, call.b, call.c, const_cast<const void*>(call.d), const_cast<const void*>(call.workspace)})
      if (!is_aligned(at)) return lt_invalid_value;
    LaunchConfig config{};
    config.stream = stream;
    if (driver().cuLaunchKernelEx(&config, reinterpret_cast<Function>(&kernel_), nullptr, nullptr) != 0) return lt_execution_failed;
    if (computes) compute(operation, m, call);
    return 0;
  }

  static void compute(const Operation& operation, const Matrices& m, const Call& call) {
    const bool integers = operation.sums == lt_sums_i32;
    const auto factor = [&](const void* from) { return integers ? number_of(lt_i32, from, 0) : number_of(lt_f32, from, 0); };
    const double alpha = factor(call.alpha), beta = factor(call.beta);
    const auto epilogue = operation.value<uint32_t>(lt_epilogue, 1);
    const auto* bias = operation.value<const void*>(lt_bias_pointer, nullptr);
    for (uint64_t column = 0; column < m.d->columns; ++column)
      for (uint64_t row = 0; row < m.d->rows; ++row) {
        double sum = 0;
        for (uint64_t k = 0; k < m.a->rows; ++k)
          sum += number_of(m.a->type, call.a, row * m.a->pitch + k) * number_of(m.b->type, call.b, column * m.b->pitch + k);
        sum *= alpha;
        if (beta != 0) sum += beta * number_of(m.c->type, call.c, column * m.c->pitch + row);
        if (epilogue != 1 && (epilogue & lt_epilogue_bias) != 0) sum += number_of(m.d->type, bias, row);
        if (epilogue != 1 && (epilogue & lt_epilogue_relu) != 0) sum = std::max(sum, 0.0);
        put_number(m.d->type, call.d, column * m.d->pitch + row, sum);
      }
  }

  CublasLt table_;
  std::string kernel_ = "cublas_lt";
};

}  // namespace deepgap::cuda
