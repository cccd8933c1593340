# A build from nothing: the compiler reads eight sources of a room at a time, and what they all include once. Off by default: who works on a file
# wants that file alone compiled, and found again in ccache by other trees. ./quickstart turns it on.
option(DEEPGAP_JOINED "Compile a room's sources eight at a time" OFF)

# Sources whose own names (constants, small functions, what their engine's headers define) another source of the room has too, and those with
# functions for several instruction sets, of which one file may hold one set.
set(DEEPGAP_ALONE
  analysis/decide/candidate.cpp analysis/findings/end_to_end.cpp analysis/findings/server_share.cpp analysis/metrics/marks.cpp
  analysis/metrics/process.cpp ceilings/amx_kernels.cpp ceilings/fp32_kernels.cpp ceilings/gpu_ceilings.cpp ceilings/half_kernels.cpp ceilings/int8_kernels.cpp
  ceilings/measure_ceilings.cpp
  cli/spellings.cpp cli/tune_study.cpp cuda/nccl.cpp dataset/npy.cpp engine/cpu/attention_f32.cpp engine/cpu/lower_quantize.cpp
  engine/gpu/direct.cpp engine/gpu/integer_epilogue.cpp engine/gpu/lower_attention.cpp engine/gpu/network.cpp engine/gpu/stem.cpp engine/gpu/wgmma.cpp
  engine/gpu/wgmma_text.cpp engine/gpu/window_text.cpp fleet/slurm_scheduler.cpp
  model/counts.cpp model/eval/windows.cpp model/model_source.cpp model/onnx_assemble.cpp model/onnx_parts.cpp
  model/shape_rules_generate.cpp model/shape_rules_reshape.cpp
  model/zoo/mobilenet_v1.cpp model/zoo/mobilenet_v2.cpp model/zoo/mobilenet_v3.cpp model/zoo/shufflenet.cpp model/zoo/vgg.cpp
  model/zoo/vit.cpp model/zoo/zoo.cpp
  plan/overrides.cpp plan/tenants.cpp profile/show_json.cpp profile/show_text.cpp report/mlperf_system.cpp report/profile_page.cpp
  report/profiles_section.cpp report/run_sequence.cpp report/comparisons_section.cpp report/stages_section.cpp report/summary_section.cpp
  report/timeline_chart.cpp scenario/mlperf/settings.cpp scenario/mlperf/verdict.cpp
  stats/steady_state.cpp)

function(deepgap_join target)
  if(NOT DEEPGAP_JOINED)
    return()
  endif()
  # What nearly every source of some rooms has, a registrar of this name, gets the file's own.
  set(names "#define DEEPGAP_JOIN_(a, b) a##b\n#define DEEPGAP_JOIN(a, b) DEEPGAP_JOIN_(a, b)\n")
  string(APPEND names "#define registered DEEPGAP_JOIN(registered_, DEEPGAP_FILE)\n")
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8 UNITY_BUILD_UNIQUE_ID DEEPGAP_FILE
    UNITY_BUILD_CODE_BEFORE_INCLUDE "${names}")
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/src OUTPUT_VARIABLE name)
    if(name IN_LIST DEEPGAP_ALONE)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()

# Tests: more than half of their compilation goes to GoogleTest's and other headers. Each defines small functions as it likes, so who may be
# joined is read from the sources (tools/join_groups.py) whenever the build is configured.
function(deepgap_join_tests target)
  if(NOT DEEPGAP_JOINED)
    return()
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(sources ${ARGN})
  execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/join_groups.py ${sources}
    OUTPUT_VARIABLE groups OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" groups "${groups}")
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source group IN ZIP_LISTS sources groups)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${target}_${group})
  endforeach()
endfunction()
