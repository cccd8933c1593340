#include "cli/spellings.h"

#include "base/messages.h"
#include "base/text.h"
#include "cli/other_tools.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <span>
#include <string_view>

namespace deepgap {
namespace {

using Words = std::vector<std::string>;

[[noreturn]] void fail(const std::string& cause) { throw Error(ErrorKind::usage, cause); }

bool contains(const Words& list, const std::string& word) { return std::find(list.begin(), list.end(), word) != list.end(); }

using Others = OtherWords;

// "1:8:2" as "1..8+2", "1:8" as "1..8", "4" as it is; other than whole numbers as a list.
std::string range(const std::string& flag, const std::string& text) {
  const Words parts = split(text, ':');
  std::vector<double> numbers;
  for (const std::string& part : parts) {
    const auto number = parse_double(part);
    if (!number || parts.size() > 3) fail(fmt::format("invalid value '{1}' for {0}: expected START:END:STEP", flag, text));
    numbers.push_back(*number);
  }
  if (numbers.size() == 1) return text;
  const double step = numbers.size() == 3 ? numbers[2] : 1;
  if (!(step > 0) || numbers[1] < numbers[0])
    fail(fmt::format("invalid value '{1}' for {0}: expected START:END:STEP with END above START", flag, text));
  if (std::all_of(parts.begin(), parts.end(), [](const std::string& part) { return parse_int(part).has_value(); }))
    return fmt::format("{}..{}{}", parts[0], parts[1], parts.size() == 3 ? "+" + parts[2] : "");
  Words list;
  for (int i = 0; numbers[0] + i * step <= numbers[1] * (1 + 1e-9) && i < 100'000; ++i)
    list.push_back(fmt::format("{:.12g}", numbers[0] + i * step));
  return join(list, ",");
}

// trtexec's "in:8x3x224x224,ids:8x128": a --shape for each.
Words trtexec_shapes(const std::string& text) {
  Words shapes;
  for (const std::string& part : split(text, ',')) {
    if (part.find(':') == std::string::npos && !shapes.empty()) {
      shapes.back() += "," + part;  // ours: in:8,3,224,224
    } else {
      shapes.insert(shapes.end(), {"--shape", part});
    }
  }
  return shapes;
}

// benchmark_app's "in[1,3,224,224],ids[1,128]".
Words openvino_shapes(const std::string& flag, const std::string& text) {
  Words shapes;
  for (size_t at = 0; at < text.size();) {
    const size_t open = text.find('[', at), close = text.find(']', at);
    if (open == std::string::npos || close == std::string::npos || close < open)
      fail(fmt::format("invalid value '{1}' for {0}: expected input[1,3,224,224]", flag, text));
    std::string name = trim(text.substr(at, open - at));
    if (name.starts_with(",")) name = trim(name.substr(1));
    if (name.empty())
      fail(fmt::format("invalid value '{1}' for {0}: expected --shape INPUT:1x3x224x224 (deepgap models FILE lists inputs)", flag, text));
    std::string sizes = text.substr(open + 1, close - open - 1);
    std::replace(sizes.begin(), sizes.end(), ',', 'x');
    sizes.erase(std::remove(sizes.begin(), sizes.end(), ' '), sizes.end());
    shapes.insert(shapes.end(), {"--shape", name + ":" + sizes});
    at = close + 1;
  }
  return shapes;
}

bool is_number(const std::string& text) { return parse_double(text).has_value(); }

std::string openvino_precision(const std::string& text) {
  return text == "f16" ? "fp16" : text == "f32" ? "fp32" : text == "u8" || text == "i8" ? "int8" : text;
}

Words openvino_hint(const std::string& text, const Others& others) {
  Words words{"--axis", "openvino.hint=" + text};
  if (!others.have({"-e", "--backend"})) words.insert(words.begin(), {"--backend", "openvino"});
  return text == "throughput" ? with_scenario("offline", others, words) : words;
}

constexpr TheirFlag taken[] = {
    // trtexec
    {"--fp16", false,
     [](const std::string&, const Others&) {
       return Words{"--precision", "fp16"};
     }},
    {"--bf16", false,
     [](const std::string&, const Others&) {
       return Words{"--precision", "bf16"};
     }},
    {"--int8", false,
     [](const std::string&, const Others&) {
       return Words{"--precision", "int8"};
     }},
    {"--fp8", false,
     [](const std::string&, const Others&) {
       return Words{"--precision", "fp8"};
     }},
    {"--shapes", true, [](const std::string& value, const Others&) { return trtexec_shapes(value); }},
    {"--optShapes", true, [](const std::string& value, const Others&) { return trtexec_shapes(value); }},
    {"--infStreams", true,
     [](const std::string& value, const Others&) {
       return Words{"--streams", value};
     }},
    {"--loadInputs", true,
     [](const std::string& value, const Others&) {
       return Words{"--dataset", value.substr(value.find(':') + 1)};
     }},
    {"--exportTimes", true,
     [](const std::string& value, const Others&) {
       return Words{"--export-timings", value};
     }},
    {"--verbose", false, [](const std::string&, const Others&) { return Words{"-v"}; }},
    {"--explicitBatch", false, [](const std::string&, const Others&) { return Words(); }},  // as it is here
    // benchmark_app
    {"-hint", true, [](const std::string& value, const Others& others) { return openvino_hint(value, others); }},
    {"-niter", true,
     [](const std::string& value, const Others&) {
       return Words{"--iterations", value};
     }},
    {"-nireq", true,
     [](const std::string& value, const Others&) {
       return Words{"--axis", "in_flight=" + value};
     }},
    {"-nstreams", true,
     [](const std::string& value, const Others&) {
       return Words{"--streams", value};
     }},
    {"-nthreads", true,
     [](const std::string& value, const Others&) {
       return Words{"--threads", value};
     }},
    {"-shape", true, [](const std::string& value, const Others&) { return openvino_shapes("-shape", value); }},
    {"-data_shape", true, [](const std::string& value, const Others&) { return openvino_shapes("-data_shape", value); }},
    {"-infer_precision", true,
     [](const std::string& value, const Others&) {
       return Words{"--precision", openvino_precision(value)};
     }},
    {"-latency_percentile", true,
     [](const std::string& value, const Others&) {
       return Words{"--percentile", value};
     }},
    {"-i", true,
     [](const std::string& value, const Others&) {
       return Words{"--dataset", value};
     }},
    // perf_analyzer
    {"--concurrency-range", true,
     [](const std::string& value, const Others& others) {
       return with_scenario("concurrency", others, {"--clients", range("--concurrency-range", value)});
     }},
    {"--request-rate-range", true,
     [](const std::string& value, const Others& others) {
       return with_scenario(others.have_word("poisson") || others.have_word("--request-distribution=poisson") ? "server" : "constant",
                            others, {"--rate", range("--request-rate-range", value)});
     }},
    {"--request-distribution", true,
     [](const std::string& value, const Others& others) {
       if (value != "poisson" && value != "constant") fail(invalid_value(value, "--request-distribution", "poisson or constant"));
       if (others.have({"--request-rate-range"})) return Words{};  // looked at there
       return with_scenario(value == "poisson" ? "server" : "constant", others, {});
     }},
    {"--measurement-interval", true,
     [](const std::string& value, const Others&) {
       return Words{"--duration", is_number(value) ? value + "ms" : value};
     }},
    {"--input-data", true,
     [](const std::string& value, const Others&) {
       return Words{"--dataset", value == "random" ? "seeded" : value == "zero" ? "zeros" : value};
     }},
    {"--model-name", true,
     [](const std::string& value, const Others&) {
       return Words{"--model", value};
     }},
    // hyperfine
    {"--runs", true,
     [](const std::string& value, const Others&) {
       return Words{"--repeats", value};
     }},
    // Ours, with the number alone that other tools take.
    {"--duration", true,
     [](const std::string& value, const Others&) {
       return Words{"--duration", is_number(value) ? value + "s" : value};
     }},
};

constexpr TheirAnswer answers[] = {
    {"--warmUp", "trtexec", "deepgap warms up until times are steady; leave it out, or count queries with --warmup N"},
    {"--minShapes", "trtexec", "deepgap measures one shape at a time: --shape INPUT:1x3x224x224"},
    {"--maxShapes", "trtexec", "deepgap measures one shape at a time: --shape INPUT:1x3x224x224"},
    {"--best", "trtexec", "deepgap measures each precision: --precision fp32,fp16,int8"},
    {"--avgRuns", "trtexec", "deepgap uses all queries; --iterations N sets their number"},
    {"--loadEngine", "trtexec", "deepgap compiles --model FILE.onnx in each run, before timing"},
    {"--saveEngine", "trtexec", "deepgap compiles the model in each run (--cache DIR keeps native's GPU kernels)"},
    {"--buildOnly", "trtexec", "use --dry-run, which shows the engines that take the model"},
    {"--skipInference", "trtexec", "use --dry-run, which shows the engines that take the model"},
    {"--builderOptimizationLevel", "trtexec", "use --axis tune=full, an option of native on a GPU"},
    {"--timingCacheFile", "trtexec", "use --cache DIR, which keeps how native's kernels were tuned"},
    {"--memPoolSize", "trtexec", "deepgap does not limit memory; the record has how much an engine used"},
    {"--workspace", "trtexec", "deepgap does not limit memory; the record has how much an engine used"},
    {"--noTF32", "trtexec", "use --precision fp32, which is never TF32"},
    {"--inputIOFormats", "trtexec", "deepgap keeps inputs and outputs as in the model"},
    {"--outputIOFormats", "trtexec", "deepgap keeps inputs and outputs as in the model"},
    {"--idleTime", "trtexec", "use --scenario constant --rate N"},
    {"--sleepTime", "trtexec", "use --scenario constant --rate N"},
    {"--exportOutput", "trtexec", "use deepgap check MODEL --outputs FOLDER"},
    {"--exportProfile", "trtexec", "use deepgap profile MODEL --json"},
    {"--exportLayerInfo", "trtexec", "use deepgap profile MODEL --json"},
    {"--dumpProfile", "trtexec", "use deepgap profile MODEL"},
    {"--dumpLayerInfo", "trtexec", "use deepgap profile MODEL"},
    {"--separateProfileRun", "trtexec", "use deepgap profile MODEL, always a run of its own"},
    {"--calib", "trtexec", "use deepgap quantize MODEL --calibration-table FILE"},
    {"--useCudaGraph", "trtexec", "use an option of the engine: --axis NAME=VALUE (deepgap backends lists them)"},
    {"--noDataTransfers", "trtexec", "use an option of the engine: --axis NAME=VALUE (deepgap backends lists them)"},
    {"--useSpinWait", "trtexec", "use an option of the engine: --axis NAME=VALUE (deepgap backends lists them)"},
    {"-api", "benchmark_app", "use --axis in_flight=N: 1 is one query after the other"},
    {"-pc", "benchmark_app", "use deepgap profile MODEL"},
    {"-report_type", "benchmark_app", "use deepgap export STORE, or --json"},
    {"-report_folder", "benchmark_app", "use --store FILE"},
    {"-json_stats", "benchmark_app", "use --json"},
    {"-inference_only", "benchmark_app", "leave it out: this is the default without --end-to-end"},
    {"-ip", "benchmark_app", "deepgap keeps inputs and outputs as in the model"},
    {"-op", "benchmark_app", "deepgap keeps inputs and outputs as in the model"},
    {"-iop", "benchmark_app", "deepgap keeps inputs and outputs as in the model"},
    {"-layout", "benchmark_app", "leave it out: samples have the shape of the input"},
    {"-mean_values", "benchmark_app", "zoo networks know how to prepare images; other models take arrays"},
    {"-scale_values", "benchmark_app", "zoo networks know how to prepare images; other models take arrays"},
    {"-pin", "benchmark_app", "use an option of the engine: --axis NAME=VALUE (deepgap backends lists them)"},
    {"-cdir", "benchmark_app", "deepgap compiles models in each run, before timing"},
    {"-cache_dir", "benchmark_app", "deepgap compiles models in each run, before timing"},
    {"-extensions", "benchmark_app", "use --axis onnxruntime.custom_ops=FILE, of ONNX Runtime"},
    {"-exec_graph_path", "benchmark_app", "use deepgap profile MODEL --json"},
    {"-max_irate", "benchmark_app", "use --scenario constant --rate N"},
    {"-load_config", "benchmark_app", "use a study file: deepgap run FILE.toml"},
    {"-dump_config", "benchmark_app", "use deepgap backends, which lists the options of each engine"},
    {"-progress", "benchmark_app", "leave it out: progress is shown, and -q hides it"},
    {"--latency-threshold", "perf_analyzer", "use --slo p99=15ms, with the percentile that it is about"},
    {"--stability-percentage", "perf_analyzer", "use --interval 1%, the width of the confidence interval"},
    {"--max-trials", "perf_analyzer", "use --budget TIME, the longest measurement"},
    {"--request-intervals", "perf_analyzer", "use --scenario trace --trace FILE"},
    {"--service-kind", "perf_analyzer",
     "use --backend kserve for a server (--device http://HOST:PORT), or the name of an engine of this machine"},
    {"-u", "perf_analyzer", "use --backend kserve --device http://HOST:PORT, or grpc://HOST:PORT"},
    {"--streaming", "perf_analyzer", "use --backend kserve --axis stream=on, over gRPC"},
    {"--measurement-mode", "perf_analyzer", "use --duration TIME or --iterations N"},
    {"--measurement-request-count", "perf_analyzer", "use --iterations N"},
    {"--profile-export-file", "perf_analyzer", "use --store FILE, then deepgap export FILE"},
    {"--binary-search", "perf_analyzer", "use --find-peak with --slo p99=15ms"},
};

template <typename Row>
const Row* row_of(std::string_view flag, std::initializer_list<std::span<const Row>> tables) {
  for (const std::span<const Row> table : tables) {
    const auto row = std::find_if(table.begin(), table.end(), [&](const Row& each) { return each.flag == flag; });
    if (row != table.end()) return &*row;
  }
  return nullptr;
}

struct Flag {
  std::string name;                  // with its dashes
  std::optional<std::string> value;  // behind "="
};

std::optional<Flag> flag_in(const std::string& word) {
  if (word.size() < 2 || word[0] != '-' || std::isdigit(static_cast<unsigned char>(word[1])) != 0 || word[1] == '.') return std::nullopt;
  const size_t equals = word.find('=');
  if (equals == std::string::npos) return Flag{word, {}};
  return Flag{word.substr(0, equals), word.substr(equals + 1)};
}

class Speller {
 public:
  Speller(const std::string& command, const Words& arguments, const OwnFlags& own)
      : command_(command), arguments_(arguments), others_(arguments), own_(own) {}

  Words spell() {
    for (at_ = 0; at_ < arguments_.size(); ++at_) {
      if (arguments_[at_] == "--") {  // a file that begins with a dash is then one by its path
        for (++at_; at_ < arguments_.size(); ++at_) words_.push_back((arguments_[at_].starts_with("-") ? "./" : "") + arguments_[at_]);
        break;
      }
      const auto flag = flag_in(arguments_[at_]);
      if (!flag || !(take(*flag) || take_model(*flag) || take_single_dash(*flag))) words_.push_back(arguments_[at_]);
    }
    return std::move(words_);
  }

 private:
  bool knows(const std::string& flag) const {
    return flag.starts_with("--") ? contains(own_.names, flag.substr(2)) : own_.letters.find(flag[1]) != std::string::npos;
  }

  std::string value_of(const Flag& flag) {
    if (flag.value) return *flag.value;
    if (++at_ >= arguments_.size()) fail(fmt::format("{} needs a value; see deepgap {} --help", flag.name, command_));
    return arguments_[at_];
  }

  // Takes the flag if the command has the flags that it becomes.
  bool take(const Flag& flag) {
    refuse(flag);
    const TheirFlag* const row = row_of<TheirFlag>(flag.name, {taken, flags_of_benchmark_tools(), flags_of_engine_tools()});
    if (row == nullptr) return false;
    if (flag.name.size() == 2 && own_.letters.find(flag.name[1]) != std::string::npos) return false;
    const size_t before = at_;
    const Words ours = row->ours(row->takes_value ? value_of(flag) : "", others_);
    const bool known = std::all_of(ours.begin(), ours.end(), [&](const std::string& word) { return word[0] != '-' || knows(word); });
    if (!known) {
      at_ = before;
      return false;
    }
    words_.insert(words_.end(), ours.begin(), ours.end());
    return true;
  }

  void refuse(const Flag& flag) const {
    if (flag.name == "-t" && others_.have({"-hint", "-niter", "-nireq", "-nstreams", "-api"}) && knows("--duration"))
      fail("-t means seconds in benchmark_app and threads in deepgap: write --duration 10s or --threads N");
    const std::string next = at_ + 1 < arguments_.size() ? arguments_[at_ + 1] : "";
    const auto meant = meant_otherwise(
        flag.name, flag.value.value_or(next), [&](const std::string& own) { return knows(own); }, others_);
    if (meant) fail(*meant);
    if ((flag.name.starts_with("--") || flag.name.size() == 2) && knows(flag.name)) return;
    const TheirAnswer* const row = row_of<TheirAnswer>(flag.name, {answers, answers_to_benchmark_tools(), answers_to_engine_tools()});
    if (row != nullptr) fail(fmt::format("{} is a flag of {}: {}", row->flag, row->tool, row->ours));
    const bool is_taken = row_of<TheirFlag>(flag.name, {flags_of_benchmark_tools()}) != nullptr;
    if (flag.name.starts_with("--benchmark_") && !is_taken)
      fail(fmt::format("{} is a flag of Google Benchmark that has no counterpart here; deepgap {} --help lists the flags", flag.name,
                       command_));
  }

  // Takes the flag if the model is a word without a flag: `deepgap check --model resnet50`.
  bool take_model(const Flag& flag) {
    const bool is_model = flag.name == "--model" || flag.name == "--onnx" || flag.name == "-m";
    const bool positional = command_ == "check" || command_ == "profile" || command_ == "quantize";
    if (!is_model || !positional || knows(flag.name)) return false;
    words_.push_back(value_of(flag));
    return true;
  }

  // "-model" is --model; "-hlp" is no -h with something behind it; "-b4" and "-qv" are as ever.
  bool take_single_dash(const Flag& flag) {
    if (flag.name.size() < 3 || flag.name[1] == '-') return false;
    const std::string name = flag.name.substr(1);
    if (contains(own_.names, name)) {
      words_.push_back("-" + arguments_[at_]);
      return true;
    }
    const bool switches = name.find_first_not_of(own_.switches) == std::string::npos;
    const bool letter_with_value = knows(flag.name) && own_.switches.find(name[0]) == std::string::npos;
    if (switches || (letter_with_value && !is_long_flag_in_part(name))) return false;
    const auto near = nearest_name(name, own_.names);
    fail(near ? fmt::format("unknown flag '{}', did you mean '--{}'?", flag.name, *near)
              : fmt::format("unknown flag '{}'; deepgap {} --help lists them", flag.name, command_));
  }

  // "-out" would be -o with the file "ut", and nobody means that: it is the beginning of a long flag, or a file without "." and "/".
  bool is_long_flag_in_part(const std::string& name) const {
    const auto begins = [&](const std::string& own) { return own.starts_with(name); };
    if (std::any_of(own_.names.begin(), own_.names.end(), begins)) return true;
    return name[0] == 'o' && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos;
  }

  const std::string& command_;
  const Words& arguments_;
  const Others others_;
  const OwnFlags& own_;
  Words words_;
  size_t at_ = 0;
};

}  // namespace

std::vector<std::string> in_our_spelling(const std::string& command, const std::vector<std::string>& arguments, const OwnFlags& own) {
  return Speller(command, arguments, own).spell();
}

}  // namespace deepgap
