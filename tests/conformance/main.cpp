// The conformance suite: what every backend must do, tried on every plug-in found. Each backend runs in a process of its own (this program
// again, with --backend NAME), since engines bring their own copies of the same libraries, and one that crashes must not take the others
// along. Usage: deepgap_conformance [--backend NAME] [--device NAME] [--option NAME=VALUE] [--seed N] [--rounds N]
//                                    [--strict-engines] [--faults FOLDER] [GoogleTest's flags]
//        deepgap_conformance --backend NAME --try FOLDER [--precision NAME]     a case that was kept, once more
// What another engine gets wrong by itself is printed ("FAULT ..."), kept below FOLDER (build/faults) and fails nothing without
// --strict-engines (or DEEPGAP_STRICT_ENGINES=1); see blame.h.
// DEEPGAP_CONFORMANCE_EVERY=3 tries every third operator's case alone, unless DEEPGAP_LONG_TESTS is set.
// The seed of everything random is printed; DEEPGAP_CONFORMANCE_SEED sets it too. DEEPGAP_LONG_TESTS=1 tries ten times as much, native
// from a seed that the clock gives. Other engines keep their seed then too: new seeds find faults of theirs again and again, which is news,
// but no reason for deepgap's gate to be red; DEEPGAP_CONFORMANCE_SEED=$(date +%s) looks for them.
#include "blame.h"
#include "graph_builder.h"
#include "kept_case.h"
#include "rig.h"
#include "supervision.h"
#include "try_case.h"

#include "base/text.h"
#include "worker/plugin.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

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
  std::string backend, faults, try_folder, precision;
  bool inside = false;  // the child of supervise()
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
  Arguments arguments;
  arguments.all = {argv, argv + argc};
  std::optional<uint64_t> given_seed;
  const auto has = [&](const char* flag) { return std::find(arguments.all.begin(), arguments.all.end(), flag) != arguments.all.end(); };
  arguments.inside = has("--inside");
  set_strict_engines(has("--strict-engines") || environment("DEEPGAP_STRICT_ENGINES") != nullptr);
  for (int i = 1; i + 1 < argc; ++i) {
    const std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--backend") arguments.backend = value;
    if (flag == "--faults") arguments.faults = value;
    if (flag == "--try") arguments.try_folder = value;
    if (flag == "--precision") arguments.precision = value;
    if (flag == "--seed") given_seed = static_cast<uint64_t>(positive(flag, value));
    if (flag == "--option") {
      const size_t equals = value.find('=');
      if (equals == std::string::npos) throw Error(ErrorKind::usage, fmt::format("--option {}: expected NAME=VALUE", value));
      given_options()[value.substr(0, equals)] = value.substr(equals + 1);
    }
    if (flag == "--device") set_device(value);
    if (flag == "--rounds") set_rounds(static_cast<int>(positive(flag, value)));
  }
  set_seed(given_seed.value_or(default_seed(arguments.backend)));
  if (is_long()) set_rounds(10 * rounds());
  return arguments;
}

// A device that nothing else holds is opened and closed by each test's sessions, which takes seconds where several processes do it.
std::unique_ptr<Rig> held_open() {
  Random random(1);
  GraphBuilder net(random, 17);
  const GraphModel model(net.finish({net.node("Relu", {net.input({4})})}));
  return std::make_unique<Rig>(model, std::vector<int64_t>{1}, 1, 1, "fp32");
}

// In the child: its exit code.
int test_backend(const Arguments& arguments) {
  const std::string& name = arguments.backend;
  std::unique_ptr<Plugin> plugin;
  try {
    plugin = open_plugin(name);
  } catch (const Error& error) {
    fmt::print("SKIPPED {}: {}\n", name, error.what());
    return exit_skipped;
  }
  if (plugin->backend().form() == ModelForm::remote) {
    fmt::print("SKIPPED {}: its models are a server's; its own tests play one\n", name);
    return exit_skipped;
  }
  set_backend(&plugin->backend());
  if (!arguments.try_folder.empty()) return try_case(arguments.try_folder, arguments.precision);
  if (arguments.inside) note_tests_in(arguments.faults);
  fmt::print("backend {} {}, seed {} (DEEPGAP_CONFORMANCE_SEED={} repeats it)\n", name, backend().version(), seed(), seed());
  for (const char* precision : {"fp32", "tf32", "bf16", "fp16", "mixed"}) {
    const Support support = supports(precision, {});
    fmt::print("  {}: {}\n", precision, support.ok ? "tried" : support.reason);
  }
  std::fflush(stdout);
  const bool elsewhere = placement().devices.at(0).kind != "cpu";
  const std::unique_ptr<Rig> held = elsewhere ? held_open() : nullptr;
  return RUN_ALL_TESTS();
}

// Native and null need nothing that may be missing; another engine may be left out, with its reason printed.
int test_all(const Arguments& arguments) {
  const std::vector<std::string> names = plugin_names();
  bool good = true;
  for (const char* needed : {"native", "null"}) {
    if (std::find(names.begin(), names.end(), needed) != names.end()) continue;
    fmt::print("FAILED {}: no such plug-in in {}\n", needed, join(plugin_folders(), ", "));
    good = false;
  }
  std::vector<std::string> summary;
  for (const std::string& name : names) {
    const int code = exit_code_of(name, run_again(arguments.all, {"--backend", name}));
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
    const bool trying = !arguments.try_folder.empty();
    if (is_of_others(arguments.backend) && !arguments.inside && !listing && !trying)
      return supervise(arguments.backend, arguments.faults, arguments.all);
    testing::InitGoogleTest(&argc, argv);
    return listing ? RUN_ALL_TESTS() : test_backend(arguments);
  } catch (const deepgap::Error& error) {
    fmt::print(stderr, "deepgap_conformance: {}\n", error.what());
    return 2;
  }
}
