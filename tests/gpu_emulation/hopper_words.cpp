#include "hopper_words.h"

#include "host_numbers.h"

#include "engine/gpu/hopper_text.h"
#include "engine/gpu/kernel_text.h"

#include <deepgap/error.h>

namespace deepgap::gpu {
namespace {

void cut(std::string& text, const std::string& what) {
  const size_t at = text.find(what);
  if (at == std::string::npos) throw Error(ErrorKind::internal, "a kernel's text has no longer: " + what.substr(0, 200));
  text.erase(at, what.size());
}

// From the function's beginning to its end around `named`.
void cut_around(std::string& text, size_t named) {
  const size_t begin = text.rfind("__device__", named), end = text.find("\n}\n", named);
  if (begin == std::string::npos || end == std::string::npos) throw Error(ErrorKind::internal, "a kernel's text has no such function");
  text.erase(begin, end + 3 - begin);
}

}  // namespace

HostWords hopper_host() { return {std::string(host_numbers) + hopper_words, hopper_player}; }

void cut_function(std::string& text, const std::string& name) {
  const size_t named = text.find(name + "(");
  if (named == std::string::npos) throw Error(ErrorKind::internal, "a kernel's text has no function " + name);
  cut_around(text, named);
}

void cut_all_functions(std::string& text, const std::string& name) {
  while (text.find(name + "(") != std::string::npos) cut_function(text, name);
}

std::string without_device_words(std::string text) {
  cut(text, std::string(kernel_prelude()));
  if (text.find(hopper_prelude()) != std::string::npos) cut(text, std::string(hopper_prelude()));
  for (size_t at = text.find("wgmma.mma_async"); at != std::string::npos; at = text.find("wgmma.mma_async")) cut_around(text, at);
  cut(text, "extern __shared__ unsigned char shared_memory[];");
  return text;
}

}  // namespace deepgap::gpu
