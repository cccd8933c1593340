#include "engine/gpu/kernels.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/own_file.h"
#include "cuda/compiler.h"
#include "model/eval/parallel.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <set>
#include <vector>

namespace deepgap::gpu {
namespace {

constexpr size_t most_bytes = size_t{64} << 20;
constexpr double operations_of_compiling = 1e8;  // for one kernel

// A file begins with the hash of what follows: what was torn or changed does not have it.
std::string sealed(const std::string& cubin) { return content_hash(cubin) + cubin; }
bool open_seal(const std::string& file, std::string& cubin) {
  const size_t length = content_hash("").size();
  if (file.size() <= length) return false;
  cubin = file.substr(length);
  return content_hash(cubin) == file.substr(0, length);
}

}  // namespace

Kernels::Kernels(const Chip& chip, const std::string& folder, const Clock* clock)
    : chip_(chip), folder_(folder), salt_(chip.target() + cuda::compiler_description()), clock_(clock) {}

std::string Kernels::key_of(const Launch& launch) const {
  Hasher hasher;
  hasher.add(salt_);
  hasher.add(launch.source);
  return hasher.digest();
}

std::string Kernels::path_of(const std::string& key) const { return folder_ + "/" + key + ".cubin"; }

bool Kernels::read(const std::string& key, std::string& cubin) const {
  if (folder_.empty() || !is_own_file(path_of(key))) return false;  // or there is none
  try {
    return open_seal(read_text(path_of(key), most_bytes), cubin);
  } catch (const Error&) {
    return false;  // made again
  }
}

void Kernels::make(const std::string& key, const std::string& source, Made& made) {
  if (read(key, made.cubin)) return;
  try {
    made.cubin = cuda::compile(source, chip_.target()).cubin;
  } catch (const Error& error) {
    made.failure = error.what();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    ++compiled_;
  }
  if (folder_.empty()) return;
  try {
    make_directories(folder_);
    replace_file(path_of(key), sealed(made.cubin));
  } catch (const Error&) {  // a cache that cannot be written costs time, nothing else
  }
}

void Kernels::prepare(std::span<const Launch* const> launches) {
  const Nanoseconds begin = now();
  std::vector<std::pair<std::string, const Launch*>> missing;
  for (const Launch* launch : launches) {
    if (launch->library) continue;
    const std::string key = key_of(*launch);
    if (made_.contains(key)) continue;
    made_[key];
    missing.emplace_back(key, launch);
  }
  parallel_for(static_cast<int64_t>(missing.size()), operations_of_compiling, [&](int64_t i) {
    const auto& [key, launch] = missing[static_cast<size_t>(i)];
    make(key, launch->source, made_.at(key));
  });
  compiling_ns_ += now() - begin;
}

Kernels::Made& Kernels::made(const Launch& launch) {
  const std::string key = key_of(launch);
  const auto [it, is_new] = made_.try_emplace(key);
  if (is_new) {
    const Nanoseconds begin = now();
    make(key, launch.source, it->second);
    compiling_ns_ += now() - begin;
  }
  return it->second;
}

bool Kernels::compiles(const Launch& launch) { return launch.library || made(launch).failure.empty(); }

cuda::Function Kernels::function(const Launch& launch) {
  if (launch.library) return nullptr;
  Made& found = made(launch);
  if (!found.failure.empty()) throw Error(ErrorKind::internal, found.failure);
  if (!found.module) {
    found.module = std::make_unique<cuda::Module>(found.cubin);
    found.cubin = {};  // the device has it
  }
  cuda::Function& function = found.functions[launch.entry];
  if (function == nullptr) function = found.module->function(launch.entry, launch.shared_bytes);
  return function;
}

void Kernels::keep_only(std::span<const Launch* const> launches) {
  std::set<std::string> kept;
  for (const Launch* launch : launches) {
    if (launch->library) continue;
    kept.insert(key_of(*launch));
    function(*launch);
  }
  std::erase_if(made_, [&](const auto& one) { return !kept.contains(one.first); });
}

}  // namespace deepgap::gpu
