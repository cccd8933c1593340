// Constants in the layouts that primitives want, made once and shared by the plans of all batch sizes of a Session.
#pragma once

#include <deepgap/tensor.h>

#include <functional>
#include <map>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {

// One thread. The tensors given must outlive the last call of get(), since they are known by address.
class WeightStore {
 public:
  WeightStore(dnnl::engine engine, dnnl::stream stream) : engine_(std::move(engine)), stream_(std::move(stream)) {}

  // Returns the bytes of `tensor`, seen as `given`, in the layout `wanted`: its own if nothing changes, else a reordered copy.
  std::shared_ptr<const std::byte> get(const Tensor& tensor, const dnnl::memory::desc& given, const dnnl::memory::desc& wanted);
  // Returns what `make` makes of `tensor` and `settings`. It is kept for every plan, so that its address stays its own.
  Tensor derived(const Tensor& tensor, const Tensor& settings, const std::function<Tensor()>& make);
  // Returns what `make` makes of `tensor` in the `layout` of one of our kernels, and keeps it likewise.
  Tensor packed(const Tensor& tensor, const std::string& layout, const std::function<Tensor()>& make);

 private:
  struct Entry {
    const std::byte* source;
    dnnl::memory::desc given, wanted;
    std::shared_ptr<const std::byte> data;
  };
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::vector<Entry> entries_;
  std::map<std::pair<const std::byte*, const std::byte*>, Tensor> derived_;
  std::map<std::pair<const std::byte*, std::string>, Tensor> packed_;
};

}  // namespace deepgap
