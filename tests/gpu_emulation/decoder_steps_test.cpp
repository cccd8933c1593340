// A whole decoder on a driver whose kernels are the GPU's, compiled for the host, beside the network as it is written down.
#include "decoder_host.h"
#include "hopper_words.h"

#include "cuda/compiler.h"
#include "cuda/fake_driver.h"
#include "engine/gpu/decoder/gpu_decoder.h"
#include "engine/gpu/decoder/step_kernels.h"
#include "model/decoder/score_tokens.h"
#include "model/decoder/written_decoder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>

namespace deepgap::gpu {
namespace {

const std::vector<int64_t> first{3, 14, 15, 9, 26, 5, 35, 8, 9, 7}, second{27, 18, 28};
constexpr int64_t context = 32;

// Kernels for steps of at most eight tokens of a network whose matrices are all of one type.
class DecoderHost {
 public:
  DecoderHost(cuda::FakeDriver& fake, const DecoderModel& model, WeightType type) {
    const bool quantized = matrix_format(type).bits != 16;
    const StepShape shape{model.shape, *find_decoder_style(model.shape.architecture), Element::f16, quantized, context};
    const std::vector<std::string> steps{"embed_tokens", "normalize_tokens", "rotate_heads", "attend", "attend_prompt", "best_token"},
        products{"product_store", "product_add", "product_gated", "product_gelu"};
    library_ = std::make_unique<HostLibrary>(
        hopper_host(), decoder_host_text(step_text(shape), steps, 0) + decoder_host_text(product_text(type, shape, {}), products, 1) +
                           decoder_host_text(product_text(type, shape, {.normalizes = true}), products, 2));
    for (const std::string& entry : steps)
      fake.kernels[entry] = [run = found(entry, 0), entry](const auto& config, void** arguments) { play(run, entry, config, arguments); };
    for (const std::string& entry : products)
      fake.kernels[entry] = [plain = found(entry, 1), normalizing = found(entry, 2), entry](const auto& config, void** arguments) {
        constexpr size_t norm = 5;  // which argument it is
        play(*static_cast<cuda::Address*>(arguments[norm]) == 0 ? plain : normalizing, entry, config, arguments);
      };
  }

 private:
  RunDecoderKernel found(const std::string& entry, int number) const {
    return library_->function<RunDecoderKernel>(fmt::format("run_{}_{}", number, entry));
  }
  static void play(RunDecoderKernel run, const std::string& entry, const cuda::LaunchConfig& config, void** arguments) {
    const unsigned grid[3] = {config.grid_x, config.grid_y, config.grid_z};
    const char* wrong = run(grid, config.block_x, arguments);
    EXPECT_EQ(wrong, nullptr) << entry << ": " << wrong;
  }
  std::unique_ptr<HostLibrary> library_;
};

class EmulatedDecoder : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::has_compiler()) GTEST_SKIP() << "NVRTC is not on this machine";
  }
  cuda::FakeDriver fake_;
  const cuda::DriverStandIn driver_{fake_.table()};
  const GpuDecoderOptions options_{.halves = Element::f16, .cuda_graph = false, .libraries = false, .cache_folder = {}};
};

std::vector<float> all_scores(DecoderSteps& steps, size_t n) {
  const auto scores = steps.scores(n);
  return {scores.begin(), scores.end()};
}

std::vector<DecoderRow> part_of(const std::vector<DecoderRow>& rows, size_t begin, size_t end) {
  return {rows.begin() + static_cast<std::ptrdiff_t>(begin), rows.begin() + static_cast<std::ptrdiff_t>(end)};
}

TEST_F(EmulatedDecoder, EveryArchitectureComputesWhatIsWrittenDown) {
  for (const std::string& architecture : decoder_architectures()) {
    const DecoderModel model = small_decoder_model(architecture);
    const DecoderHost host(fake_, model, WeightType::f16);
    const std::vector<double> wanted = WrittenDecoder(model).scores(first);
    const auto steps = make_gpu_decoder(model, 0, options_);
    steps->make_cache(2, context);
    const auto rows = rows_for(first, 1);
    steps->run(part_of(rows, 0, 6));
    steps->run(part_of(rows, 6, rows.size() - 1));
    steps->run(part_of(rows, rows.size() - 1, rows.size()));
    const auto found = all_scores(*steps, 0);
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 3e-2) << architecture << " " << i;
    EXPECT_EQ(steps->best_token(0), std::max_element(found.begin(), found.end()) - found.begin()) << architecture;
  }
}

TEST_F(EmulatedDecoder, ASequenceIsTheSameAloneAndInABatch) {
  DecoderModel model = small_decoder_model("llama");
  for (const WeightType type : {WeightType::f16, WeightType::q4_1}) {
    model.stored_as = type == WeightType::f16 ? WeightType::f32 : type;
    const DecoderHost host(fake_, model, type);
    const auto steps = make_gpu_decoder(model, 0, options_);
    EXPECT_EQ(steps->type_shares().size(), 1U);
    steps->make_cache(3, context);
    steps->run(rows_for({second.begin(), second.end() - 1}, 2));
    steps->run(std::vector<DecoderRow>{{2, 2, second.back(), true}});
    const auto alone = all_scores(*steps, 0);
    steps->make_cache(3, context);
    std::vector<DecoderRow> both = rows_for({second.begin(), second.end() - 1}, 1);
    const auto others = rows_for({first.begin(), first.begin() + 4}, 0);
    both.insert(both.end(), others.begin(), others.end());
    steps->run(both);
    steps->run(std::vector<DecoderRow>{{0, 4, 26, true}, {1, 2, second.back(), true}});
    EXPECT_EQ(all_scores(*steps, 1), alone) << format_of(type).name;
  }
}

// A step holds the scores of 64 rows of one sequence. Scores of one row must not end in the place of another.
TEST_F(EmulatedDecoder, ScoresOfATextAreThoseOfItsPrefixes) {
  const DecoderModel model = small_decoder_model("llama");
  const DecoderHost host(fake_, model, WeightType::f16);
  const auto steps = make_gpu_decoder(model, 0, options_);
  steps->make_cache(1, context);
  EXPECT_EQ(steps->most_scores(), 64);
  for (const size_t asked : {size_t{6}, size_t{0}}) {  // few rows want scores, and all
    score_tokens(*steps, std::span(first).first(8), asked, [&](size_t position, std::span<const float> scores) {
      const auto wanted = WrittenDecoder(model).scores({first.begin(), first.begin() + static_cast<std::ptrdiff_t>(position) + 1});
      for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(scores[i], wanted[i], 3e-2) << position << " " << i;
    });
  }
}

TEST_F(EmulatedDecoder, ACacheThatDoesNotFitIsOneLine) {
  const DecoderModel model = small_decoder_model("llama");
  const auto steps = make_gpu_decoder(model, 0, options_);
  try {
    steps->make_cache(1000, int64_t{1} << 20);
    FAIL() << "it fits";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::out_of_memory);
    EXPECT_NE(std::string(error.what()).find("cache of keys and values"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace deepgap::gpu
