#include "telemetry/nvml_probe.h"

#include "telemetry/fake_root.h"
#include "telemetry/nvml_fake.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace deepgap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const TelemetrySettings on_first_gpu{.devices = {{"", "cuda", 0}}};

std::unique_ptr<Probe> opened(FakeNvml& fake, const TelemetrySettings& settings = on_first_gpu, const CudaEnvironment& cuda = {}) {
  auto probe = make_nvml_probe(fake.loader(), cuda);
  EXPECT_EQ(probe->open(settings), std::nullopt);
  return probe;
}

std::string refusal(FakeNvml& fake, const TelemetrySettings& settings = on_first_gpu, const CudaEnvironment& cuda = {}) {
  return make_nvml_probe(fake.loader(), cuda)->open(settings).value_or("available");
}

const Series* find(const Probe& probe, const std::string& name) {
  const auto& all = probe.series();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Series& s) { return s.name == name; });
  return found == all.end() ? nullptr : &*found;
}

TEST(NvmlProbe, reads_every_series_with_its_unit) {
  FakeNvml fake{{FakeGpu{.reasons = 4, .processes = 1}}};
  const auto probe = opened(fake);
  probe->read(7);
  probe->read_slow(8);
  const auto value = [&](const std::string& name) { return find(*probe, name + ".cuda0")->values.at(0); };
  EXPECT_DOUBLE_EQ(value("energy"), 5000);
  EXPECT_DOUBLE_EQ(value("power"), 310) << "that of the moment, not the mean over a second";
  EXPECT_DOUBLE_EQ(value("utilization"), 0.97);
  EXPECT_DOUBLE_EQ(value("clock_sm"), 1.98e9);
  EXPECT_EQ(value("throttle_reasons"), 4);
  EXPECT_EQ(value("temperature"), 45);
  EXPECT_EQ(value("temperature_memory"), 60);
  EXPECT_EQ(value("memory_used"), 1e9);
  EXPECT_EQ(value("processes"), 1);
  EXPECT_EQ(value("pcie_generation"), 5);
  EXPECT_THAT(find(*probe, "energy.cuda0")->times, ElementsAre(7));
  EXPECT_THAT(find(*probe, "processes.cuda0")->times, ElementsAre(8)) << "slow: not at an edge";
  EXPECT_TRUE(find(*probe, "energy.cuda0")->counter);
  EXPECT_FALSE(find(*probe, "power.cuda0")->counter);
}

TEST(NvmlProbe, tells_what_the_gpu_is) {
  FakeRoot root;
  root.with("/sys/bus/pci/devices/0000:1b:00.0/numa_node", "1\n").with("/sys/bus/pci/devices/0000:1b:00.0/local_cpulist", "8-15\n");
  root.with("/sys/devices/system/cpu/cpu8/topology/physical_package_id", "1\n");
  FakeNvml fake{{FakeGpu{.links = 18}}};
  const auto facts = opened(fake, {.root = root.path(), .devices = {{"", "cuda", 0}}})->environment();
  const auto text = [&](const std::string& key) { return std::get<std::string>(facts.at(key)); };
  const auto number = [&](const std::string& key) { return std::get<int64_t>(facts.at(key)); };
  EXPECT_EQ(text("gpu.driver"), "580.159.03");
  EXPECT_EQ(text("gpu.cuda"), "13.0");
  EXPECT_EQ(text("gpu.cuda0.name"), "NVIDIA H200");
  EXPECT_EQ(text("gpu.cuda0.compute_capability"), "9.0");
  EXPECT_EQ(number("gpu.cuda0.multiprocessors"), 132);
  EXPECT_EQ(number("gpu.cuda0.numa_node"), 1);
  EXPECT_EQ(number("gpu.cuda0.cpu_socket"), 1);
  EXPECT_EQ(number("gpu.cuda0.nvlinks"), 18);
  EXPECT_DOUBLE_EQ(std::get<double>(facts.at("gpu.cuda0.power_limit_w")), 700);
  EXPECT_TRUE(std::get<bool>(facts.at("gpu.cuda0.persistence_mode")));
  EXPECT_THAT(text("gpu.cuda0.pcie_width_max"), HasSubstr("not available")) << "the fake's table has no such function";
}

TEST(NvmlProbe, gpus_that_are_measured_together_know_their_paths) {
  FakeNvml fake{{FakeGpu{}, FakeGpu{.uuid = "GPU-2"}, FakeGpu{.uuid = "GPU-3"}}};
  const auto facts = opened(fake, {.devices = {{"", "cuda", 0}, {"", "cuda", 2}}})->environment();
  EXPECT_EQ(std::get<std::string>(facts.at("gpu.cuda0.path_to_2")), "SYS");
  EXPECT_EQ(std::get<std::string>(facts.at("gpu.cuda2.pcie_path_to_0")), "SYS");
  EXPECT_FALSE(facts.contains("gpu.cuda0.path_to_1")) << "cuda:1 is not measured";
}

TEST(NvmlProbe, a_point_on_the_cpu_opens_no_driver) {
  FakeNvml fake{{FakeGpu{}}};
  EXPECT_EQ(refusal(fake, {.devices = {{"", "cpu", 0}}}), "not needed: nothing is measured on a GPU");
  EXPECT_EQ(fake.calls, 0);
}

TEST(NvmlProbe, an_absent_library_is_a_reason) {
  const auto absent = [] { return NvmlLoad{{}, "libnvidia-ml.so.1 is not here"}; };
  EXPECT_EQ(make_nvml_probe(absent, {})->open(on_first_gpu), "libnvidia-ml.so.1 is not here");
}

TEST(NvmlProbe, a_library_that_does_not_start_is_a_reason) {
  FakeNvml fake{{FakeGpu{}}};
  fake.init_result = nvml_version_mismatch;
  EXPECT_THAT(refusal(fake), HasSubstr("different versions"));
  fake.init_result = nvml_driver_not_loaded;
  EXPECT_THAT(refusal(fake), HasSubstr("driver is not loaded"));
  fake.init_result = 4242;
  EXPECT_EQ(refusal(fake), "NVML error 4242");
}

TEST(NvmlProbe, a_driver_without_gpus_or_with_denied_ones_is_a_reason) {
  FakeNvml none;
  EXPECT_EQ(refusal(none), "the driver finds no GPU");
  FakeNvml denied{{FakeGpu{.fails = {{"device_by_index", nvml_no_permission}}}}};
  EXPECT_THAT(refusal(denied), HasSubstr("NVML_ERROR_NO_PERMISSION"));
}

TEST(NvmlProbe, what_a_gpu_does_not_offer_is_missing_and_never_zero) {
  FakeNvml fake{{FakeGpu{.fails = {{"energy", nvml_not_supported}, {"instant", nvml_not_supported}, {"processes", nvml_no_permission}}}}};
  const auto probe = opened(fake);
  probe->read(1);
  probe->read_slow(1);
  EXPECT_EQ(find(*probe, "energy.cuda0"), nullptr);
  EXPECT_EQ(probe->missing().at("energy.cuda0"), "the device does not offer it");
  EXPECT_THAT(probe->missing().at("processes.cuda0"), HasSubstr("denies"));
  EXPECT_THAT(probe->missing().at("ecc_corrected.cuda0"), HasSubstr("does not have this function")) << "an older library";
  EXPECT_DOUBLE_EQ(find(*probe, "power.cuda0")->values.at(0), 300) << "then the mean over a second";
  EXPECT_EQ(std::get<std::string>(probe->environment().at("gpu.cuda0.power_reading")), "from nvmlDeviceGetPowerUsage");
}

TEST(NvmlProbe, counters_are_kept_as_read_though_they_wrap_or_start_again) {
  FakeNvml fake{{FakeGpu{.energy_mj = 4'294'967'000}}};
  const auto probe = opened(fake);
  probe->read(1);
  fake.gpus[0].energy_mj = 704;
  probe->read(2);
  EXPECT_THAT(find(*probe, "energy.cuda0")->values, ElementsAre(4'294'967.0, 0.704));
}

TEST(NvmlProbe, a_gpu_that_is_lost_is_asked_no_more) {
  FakeNvml fake{{FakeGpu{}, FakeGpu{.uuid = "GPU-2222"}}};
  const auto probe = opened(fake, {.devices = {{"", "cuda", 0}, {"", "cuda", 1}}});
  probe->read(1'000'000'000);
  fake.gpus[0].fails["all"] = nvml_gpu_is_lost;
  probe->read(3'500'000'000);
  const int calls = fake.calls;
  fake.gpus[1].fails["all"] = nvml_gpu_is_lost;
  probe->read(4'000'000'000);
  EXPECT_EQ(fake.calls, calls + 1) << "one question finds the other one lost";
  EXPECT_EQ(find(*probe, "energy.cuda0")->times.size(), 1u);
  EXPECT_EQ(find(*probe, "energy.cuda1")->times.size(), 2u);
  EXPECT_THAT(probe->missing().at("power.cuda0"), HasSubstr("NVML_ERROR_GPU_IS_LOST"));
  EXPECT_THAT(probe->missing().at("power.cuda0"), HasSubstr("2.5 s after the first reading"));
}

TEST(NvmlProbe, one_failed_reading_leaves_a_gap) {
  FakeNvml fake{{FakeGpu{}}};
  const auto probe = opened(fake);
  probe->read(1);
  fake.gpus[0].fails["energy"] = 999;
  probe->read(2);
  fake.gpus[0].fails.clear();
  probe->read(3);
  EXPECT_THAT(find(*probe, "energy.cuda0")->times, ElementsAre(1, 3));
  EXPECT_EQ(probe->missing().at("energy.cuda0"), "at times: NVML error 999");
}

TEST(NvmlDevices, the_environment_decides_which_gpu_cuda_0_is) {
  FakeNvml fake{{FakeGpu{.uuid = "GPU-1111-aaaa"}, FakeGpu{.uuid = "GPU-2222-bbbb"}, FakeGpu{.uuid = "GPU-2233-cccc"}}};
  const NvmlApi api = fake.loader()().api;
  const auto order = [&](const std::optional<std::string>& devices) {
    std::vector<size_t> positions;
    for (const VisibleGpu& gpu : visible_gpus(api, {devices, {}}).gpus) {
      positions.push_back(static_cast<size_t>(static_cast<FakeGpu*>(gpu.device) - fake.gpus.data()));
    }
    return positions;
  };
  EXPECT_THAT(order({}), ElementsAre(0, 1, 2));
  EXPECT_THAT(order("2,0"), ElementsAre(2, 0));
  EXPECT_THAT(order("GPU-2222,0"), ElementsAre(1, 0));
  EXPECT_THAT(order("1,7,0"), ElementsAre(1)) << "what names no device ends the list";
  EXPECT_THAT(order("GPU-22"), ElementsAre()) << "not unique";
  EXPECT_THAT(order(""), ElementsAre());
  EXPECT_EQ(visible_gpus(api, {"-1", {}}).reason, "CUDA_VISIBLE_DEVICES='-1' leaves no GPU");
  fake.gpus[1].fails["device_by_index"] = nvml_no_permission;
  EXPECT_THAT(order({}), ElementsAre(0, 2)) << "another container's: CUDA does not count it either";
}

TEST(NvmlDevices, gpus_that_differ_may_be_counted_in_another_order) {
  FakeNvml fake{{FakeGpu{}, FakeGpu{.name = "NVIDIA T4"}}};
  const NvmlApi api = fake.loader()().api;
  EXPECT_THAT(visible_gpus(api, {}).note, HasSubstr("CUDA_DEVICE_ORDER"));
  EXPECT_EQ(visible_gpus(api, {{}, "PCI_BUS_ID"}).note, "");
}

TEST(NvmlProbe, reads_the_gpu_behind_the_number_and_says_when_there_is_none) {
  FakeNvml fake{{FakeGpu{.energy_mj = 1000}, FakeGpu{.energy_mj = 2000}}};
  const auto probe = opened(fake, on_first_gpu, {"1", {}});
  probe->read(1);
  EXPECT_DOUBLE_EQ(find(*probe, "energy.cuda0")->values.at(0), 2);
  EXPECT_EQ(refusal(fake, {.devices = {{"", "cuda", 5}}}), "the driver shows 2 GPUs here, and none of those asked for");
}

}  // namespace
}  // namespace deepgap
