// Backend: a plug-in that turns a Model into a Session on a device. docs/adding.md walks through writing one.
//
// A plug-in is a shared library build/lib/deepgap/deepgap_NAME.so that exports
//     extern "C" const deepgap::BackendEntry deepgap_backend;
// and is opened with RTLD_NOW|RTLD_LOCAL in a worker process, never in the parent. Use DEEPGAP_BACKEND(Class) to export it.
// Throw Error{refused} from load() for what the engine does not do, naming operator and node.
#pragma once

#include <deepgap/clock.h>
#include <deepgap/error.h>
#include <deepgap/model.h>
#include <deepgap/point.h>
#include <deepgap/session.h>
#include <deepgap/train.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace deepgap {

inline constexpr int backend_abi = 12;
// Compiler and C++ ABI: a plug-in built with another one is not loaded.
#define DEEPGAP_BUILD_TAG "g++-abi" DEEPGAP_STRING(__GXX_ABI_VERSION) "-cxx11-" DEEPGAP_STRING(_GLIBCXX_USE_CXX11_ABI)
#define DEEPGAP_STRING(x) DEEPGAP_STRING_(x)
#define DEEPGAP_STRING_(x) #x

struct Support {
  bool ok = true;
  std::string reason;  // empty when ok
};

// Throws Error{refused} with the reason if `ok` is false.
inline void require(const Support& support) {
  if (!support.ok) throw Error(ErrorKind::refused, support.reason);
}

// Form in which the backend reads a Model: graph() or onnx(). remote: neither; its Models live where its devices are and are known by name.
enum class ModelForm : uint8_t { graph, onnx, remote };

struct DeviceInfo {
  DeviceId id;
  std::string name;
  int64_t memory_bytes = -1;  // -1: not known
  std::map<std::string, std::string> properties;
};

// Place of a query's samples before it begins: in the host's memory or in the device's, and either as they are or (ready) in the type and
// layout that the first operators read. On a CPU all four are the same memory.
enum class InputPlace : uint8_t { host, device, ready, host_ready };
inline bool is_ready(InputPlace place) { return place == InputPlace::ready || place == InputPlace::host_ready; }

// A request to an engine: supports() says whether the engine can do it, load() does it. Each Session belongs to one process and one device;
// the worker asks once for each device of a Point.
struct EngineRequest {
  Task task = Task::infer;  // one of Backend::tasks()
  Placement placement;
  Precision precision = Precision::fp32;
  std::vector<int64_t> batch_sizes{1};  // every size that will be enqueued; an engine may compile one plan for each
  int threads = 1;
  InputPlace inputs = InputPlace::host;
  bool samples_change = false;                 // staged bytes are rewritten before enqueue(): each query reads them anew
  std::map<std::string, std::string> options;  // options that the backend declares, by their names without prefix
  TrainSettings train;                         // for task train
  GenerateSettings generate;                   // for task generate
};

// The ranks of one training find each other with this while they load. It sends `said`, any UTF-8 text, to all ranks, waits until each has
// called it, and returns what each said, by rank. All ranks call it equally often. A rank that dies or refuses ends the others' processes.
using RankExchange = std::function<std::vector<std::string>(const std::string& said)>;

// A request and what it is loaded with. The caller ensures: at least one batch size, each one that the Model's Batching takes; slots and
// threads of 1 or more; a clock and a completion; options that check_options() let pass; a request that supports() took. A backend need not
// check these again, but refuses what it finds out only by loading.
struct LoadOptions : EngineRequest {
  int slots = 1;
  std::string cache_dir;   // may be empty: cache nothing
  Clock* clock = nullptr;  // the run's clock; outlives the Session
  Completion completion;
  RankExchange exchange;  // for a training with several ranks; called on the thread that calls load()
};

// The kind of values that an option takes.
enum class OptionKind : uint8_t { text, choice, count, number, duration };

// Describes an option of a backend, so that the tool can list it, refuse an unknown name with "did you mean", and find a value that the
// option does not take before anything runs.
struct OptionInfo {
  std::string name;
  std::string describe;       // one line
  std::string default_value;  // empty: as if it were not there
  bool process_wide = false;  // Points that differ in it cannot share a process
  OptionKind kind = OptionKind::text;
  std::vector<std::string> words = {};  // all values of a choice; for other kinds except text, words beside the values: "auto"
  int64_t least = 1, most = INT64_MAX;  // limits of a count
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  virtual std::string version() const = 0;  // versions of the engine and of the libraries that determine its speed
  virtual ModelForm form() const = 0;
  virtual std::vector<DeviceInfo> devices() const = 0;
  // The choice `clock` may be among them: with the word virtual the run gets a Clock that jumps from one scheduled work to the next,
  // for a Session that is used by one thread and completes by what it schedules.
  virtual std::vector<OptionInfo> options() const = 0;
  // Returns the tasks that it has Sessions for. A Point of another task is refused before anything else is asked.
  virtual std::vector<Task> tasks() const { return {Task::infer}; }
  // Returns whether outputs follow from inputs. false: its queries only take their time, so that what they answer is neither checked nor
  // counted, and no Model is quantized for it.
  virtual bool computes() const { return true; }
  // For form() remote: returns the inputs and outputs of the Model `name` on the request's first device, as a Graph of one node that stands
  // for the Model; a batch is batch_symbol. Asks the server once and keeps the answer. Throws Error{refused} if the device does not answer
  // as it should, and {usage} for an unknown name.
  virtual Graph remote_model(const std::string& name, const EngineRequest& /*request*/) {
    throw Error(ErrorKind::internal, "the backend has no model of its own named " + name);
  }
  // Returns whether the backend can run the request, as far as the summary shows; load() may still refuse. Cheap: called for every Point of
  // a Plan. Throws Error{usage} for an option's value that cannot be read.
  virtual Support supports(const EngineRequest& request, const GraphSummary& graph) const = 0;
  // Compiles the model. Throws Error{refused | out_of_memory | device_lost}, and {usage} as supports() does. The Model outlives the
  // Session.
  virtual std::unique_ptr<Session> load(const Model& model, const LoadOptions& options) = 0;
};

struct BackendEntry {
  int abi;
  const char* build_tag;
  Backend* (*create)();  // the caller owns the result and deletes it before the library is closed
};

// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot stand in parentheses
#define DEEPGAP_BACKEND(Class)                                                                   \
  extern "C" __attribute__((visibility("default"))) const deepgap::BackendEntry deepgap_backend; \
  const deepgap::BackendEntry deepgap_backend {                                                  \
    deepgap::backend_abi, DEEPGAP_BUILD_TAG, []() -> deepgap::Backend* { return new Class; }     \
  }
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace deepgap
