// Finds the plug-ins by which XLA computes on a kind of device (PJRT): libraries that its users install with jax, or alone.
#pragma once

#include <string>
#include <vector>

namespace deepgap {

struct XlaPlugins {
  std::string cpu, cuda;           // paths; empty: there is none
  std::vector<std::string> tried;  // places that were looked into
};

// Looks at DEEPGAP_XLA (plug-ins, or folders with some, separated by ':'; then nowhere else), at deps/xla beside deepgap's plug-ins (in a
// build tree what the set-up installed), and in the packages of the Python on PATH: jax_plugins.xla_cuda13, xla_plugins.xla_cpu_pjrt.
// Throws Error{refused} for an entry of DEEPGAP_XLA that is or holds none.
XlaPlugins find_xla_plugins();
// The package in whose folder of packages a plug-in lies, with its version: "jax_cuda13_pjrt 0.11.2"; else its file's name.
std::string xla_package_of(const std::string& path);
// "no plug-in of XLA for CPUs in PLACES; ...": what to do where there is none for this kind of device, "cpu" or "cuda".
std::string missing_xla_plugin(const XlaPlugins& plugins, const std::string& kind);

}  // namespace deepgap
