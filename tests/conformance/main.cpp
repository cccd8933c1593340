// The conformance suite: what every backend must do, tried on every plug-in found. Each backend runs in a process of its own (this program
// again, with --backend NAME), since engines bring their own copies of the same libraries, and one that crashes must not take the others
// along. Usage: deepgap_conformance [--backend NAME] [--option NAME=VALUE] [--seed N] [--rounds N] [GoogleTest's flags]
// The seed of everything random is printed; DEEPGAP_CONFORMANCE_SEED sets it too. DEEPGAP_LONG_TESTS=1 tries ten times as much, native
// from a seed that the clock gives. Other engines keep their seed then too: new seeds find faults of theirs again and again, which is news,
// but no reason for deepgap's gate to be red; DEEPGAP_CONFORMANCE_SEED=$(date +%s) looks for them.
#include "rig.h"

#include "base/text.h"
#include "worker/plugin.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace deepgap::conformance {
namespace {

constexpr int exit_skipped = 77;  // as test drivers have it

struct Arguments {
  std::string backend;
  std::vector<std::string> all;
};

int64_t positive(const std::string& flag, const std::string& text) {
  const auto value = parse_int(text);
  if (!value || *value < 1) throw Error(ErrorKind::usage, fmt::format("{} {}: expected a whole number from 1", flag, text));
  return *value;
}

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

bool is_long() { return environment("DEEPGAP_LONG_TESTS") != nullptr; }

uint64_t default_seed(const std::string& backend) {
  if (const char* given = environment("DEEPGAP_CONFORMANCE_SEED"))
    return static_cast<uint64_t>(positive("DEEPGAP_CONFORMANCE_SEED", given));
  if (!is_long() || backend != "native") return seed();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(now).count());
}

Arguments parse(int argc, char** argv) {
  Arguments arguments{"", {argv, argv + argc}};
  std::optional<uint64_t> given_seed;
  for (int i = 1; i + 1 < argc; ++i) {
    const std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--backend") arguments.backend = value;
    if (flag == "--seed") given_seed = static_cast<uint64_t>(positive(flag, value));
    if (flag == "--option") {
      const size_t equals = value.find('=');
      if (equals == std::string::npos) throw Error(ErrorKind::usage, fmt::format("--option {}: expected NAME=VALUE", value));
      given_options()[value.substr(0, equals)] = value.substr(equals + 1);
    }
    if (flag == "--rounds") set_rounds(static_cast<int>(positive(flag, value)));
  }
  set_seed(given_seed.value_or(default_seed(arguments.backend)));
  if (is_long()) set_rounds(10 * rounds());
  return arguments;
}

// In the child: its exit code.
int test_backend(const std::string& name) {
  std::unique_ptr<Plugin> plugin;
  try {
    plugin = open_plugin(name);
  } catch (const Error& error) {
    fmt::print("SKIPPED {}: {}\n", name, error.what());
    return exit_skipped;
  }
  set_backend(&plugin->backend());
  fmt::print("backend {} {}, seed {} (DEEPGAP_CONFORMANCE_SEED={} repeats it)\n", name, backend().version(), seed(), seed());
  for (const char* precision : {"fp32", "tf32", "bf16", "fp16", "mixed"}) {
    const Support support = supports(precision, {});
    fmt::print("  {}: {}\n", precision, support.ok ? "tried" : support.reason);
  }
  std::fflush(stdout);
  return RUN_ALL_TESTS();
}

int run_child(std::vector<std::string> arguments, const std::string& name) {
  arguments.insert(arguments.begin() + 1, {"--backend", name});
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    ::execv("/proc/self/exe", argv.data());
    ::_exit(126);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return 126;
  if (WIFSIGNALED(status)) fmt::print("FAILED {}: killed by signal {}\n", name, WTERMSIG(status));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

// Native and null need nothing that may be missing; another engine may be left out, with its reason printed.
int test_all(const Arguments& arguments) {
  const std::vector<std::string> names = plugin_names();
  bool good = true;
  for (const char* needed : {"native", "null"}) {
    if (std::find(names.begin(), names.end(), needed) != names.end()) continue;
    fmt::print("FAILED {}: no such plug-in in {}\n", needed, plugin_dir());
    good = false;
  }
  std::vector<std::string> summary;
  for (const std::string& name : names) {
    const int code = run_child(arguments.all, name);
    const bool may_skip = name != "native" && name != "null";
    const bool skipped = code == exit_skipped;
    good = good && (code == 0 || (skipped && may_skip));
    summary.push_back(fmt::format("{}: {}", name, code == 0 ? "conforms" : skipped ? "skipped, reason above" : "FAILED"));
  }
  for (const AbsentBackend& absent : absent_backends()) summary.push_back(fmt::format("{}: absent, {}", absent.name, absent.reason));
  for (const std::string& line : summary) fmt::print("{}\n", line);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace deepgap::conformance

int main(int argc, char** argv) {
  using namespace deepgap::conformance;
  try {
    const bool listing = argc > 1 && std::string(argv[1]).starts_with("--gtest_list");
    const Arguments arguments = parse(argc, argv);
    if (arguments.backend.empty() && !listing) return test_all(arguments);
    testing::InitGoogleTest(&argc, argv);
    return listing ? RUN_ALL_TESTS() : test_backend(arguments.backend);
  } catch (const deepgap::Error& error) {
    fmt::print(stderr, "deepgap_conformance: {}\n", error.what());
    return 2;
  }
}
