// Owners of what a plug-in of XLA hands out by PJRT: the plug-in's library, a client with one device, compiled programs, buffers.
#pragma once

#include "backends/xla/pjrt_api.h"

#include <deepgap/session.h>
#include <deepgap/tensor.h>

#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {

// What a function of PJRT answered instead of success.
struct PjrtFailure : std::exception {
  PjrtFailure(int code_, std::string message_) : code(code_), message(std::move(message_)) {}
  const char* what() const noexcept override { return message.c_str(); }
  int code;  // gRPC's
  std::string message;
};

// A plug-in of XLA, opened once and kept until the process ends. Any thread.
class PjrtLibrary {
 public:
  // Throws Error{refused} if the file is not a plug-in of XLA, or has another major version of the interface.
  explicit PjrtLibrary(const std::string& path);
  std::string version() const;  // version of PJRT's interface: "0.81"

  // Throws PjrtFailure.
  template <typename Arguments>
  void call(Arguments& arguments) const {
    // A later plug-in's struct may have more fields; it reads zeros there, which stand for "not given".
    struct {
      Arguments given;
      char later_fields[96] = {};
    } padded{arguments};
    padded.given.struct_size = sizeof padded;
    call(Arguments::place, &padded);
    arguments = padded.given;
  }

 private:
  void call(size_t place, void* arguments) const;
  const PjrtApi* api_;
};

// One owner of something that `Destroy` destroys by its member `field`.
template <typename Object, typename Destroy, Object* Destroy::*field>
class PjrtOwned {
 public:
  PjrtOwned() = default;
  PjrtOwned(const PjrtLibrary& library, Object* object) : library_(&library), object_(object) {}
  PjrtOwned(PjrtOwned&& other) noexcept : library_(other.library_), object_(std::exchange(other.object_, nullptr)) {}
  PjrtOwned& operator=(PjrtOwned&& other) noexcept {
    std::swap(library_, other.library_);
    std::swap(object_, other.object_);
    return *this;
  }
  ~PjrtOwned() {
    if (object_ == nullptr) return;
    Destroy destroy;
    destroy.*field = object_;
    try {
      library_->call(destroy);
    } catch (const PjrtFailure&) {  // nobody is left to hear it
    }
  }
  Object* get() const { return object_; }

 private:
  const PjrtLibrary* library_ = nullptr;
  Object* object_ = nullptr;
};
using PjrtBuffer = PjrtOwned<PjrtBufferObject, PjrtDestroyBuffer, &PjrtDestroyBuffer::buffer>;
using PjrtExecutable = PjrtOwned<PjrtExecutableObject, PjrtDestroyExecutable, &PjrtDestroyExecutable::executable>;

// A client of one device, which outlives its buffers and programs. Any thread. Everything may throw PjrtFailure.
class PjrtClient {
 public:
  // `device`: the number of the GPU, for a plug-in for GPUs; -1 for one for CPUs, which computes on `threads` of them.
  PjrtClient(const PjrtLibrary& library, int device, int threads);

  // Compiles StableHLO, written as text.
  PjrtExecutable compile(std::string text) const;
  // Copies the bytes before it returns.
  PjrtBuffer copy(const TensorView& tensor) const;
  // A buffer over the caller's bytes, which outlive it; a CPU may read them where they are.
  PjrtBuffer over_host(DataType type, const Shape& shape, const std::byte* data) const;
  // A buffer over the caller's bytes on the GPU, which outlive it and are written.
  PjrtBuffer over_device(DataType type, const Shape& shape, void* address) const;
  // Begins to run a program with one output for each of `outputs`, which are ready later.
  std::vector<PjrtBuffer> execute(const PjrtExecutable& program, const std::vector<PjrtBufferObject*>& arguments, size_t outputs) const;
  void wait(const PjrtBuffer& buffer) const;  // until it is computed
  void read(const PjrtBuffer& buffer, std::byte* to, size_t bytes) const;
  void* address(const PjrtBuffer& buffer) const;  // address of its bytes on the GPU
  MemoryUse memory() const;                       // where the plug-in reports it

 private:
  PjrtBuffer from_host(DataType type, const Shape& shape, const std::byte* data, PjrtHostBytes bytes) const;
  void await(PjrtEvent* event) const;

  const PjrtLibrary& library_;
  PjrtOwned<PjrtClientObject, PjrtDestroyClient, &PjrtDestroyClient::client> client_;
  PjrtDevice* device_ = nullptr;
};

}  // namespace deepgap
