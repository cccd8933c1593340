# A build from nothing: the compiler reads several sources of a target at a time, and reads the headers that all sources include once for all
# targets. Off by default: a developer who changes a file wants that file alone compiled, and found again in ccache by other trees.
# ./quickstart turns it on.
option(DEEPGAP_JOINED "Compile up to sixteen sources at a time" OFF)

# Precompiled headers, which the compiler takes only where its options and macros are those they were made with: so there are some for each
# level of optimization of an object, and some for tests, which are programs. LINK: what the target links; these libraries define macros.
set(DEEPGAP_OWN_MACROS OpenMP::OpenMP_CXX openvino::runtime)

function(deepgap_precompile target level)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  if(NOT DEEPGAP_JOINED)
    return()
  endif()
  foreach(library ${DEEPGAP_OWN_MACROS})
    if(library IN_LIST arg_LINK)
      return()
    endif()
  endforeach()
  set(headers deepgap_precompiled_${level})
  if(NOT TARGET ${headers})
    set(text "// Headers are precompiled for this file.\n")
    if(level STREQUAL "tests")
      string(APPEND text "int main() {}\n")
    endif()
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled/${level}.cpp CONTENT "${text}" @ONLY)
    if(level STREQUAL "tests")
      add_executable(${headers} EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/precompiled/${level}.cpp)
      target_link_libraries(${headers} PRIVATE GTest::gmock)
      target_precompile_headers(${headers} PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
      deepgap_optimize(${headers} tests)
    else()
      add_library(${headers} OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/precompiled/${level}.cpp)
      deepgap_optimize(${headers} ${level})
    endif()
    target_link_libraries(${headers} PRIVATE deepgap_options nlohmann_json::nlohmann_json)
    target_precompile_headers(${headers} PRIVATE <algorithm> <array> <atomic> <chrono> <cmath> <condition_variable> <cstdint> <cstring>
      <filesystem> <functional> <map> <memory> <mutex> <numeric> <optional> <random> <set> <span> <sstream> <string> <string_view> <thread>
      <unordered_map> <utility> <variant> <vector> <fmt/format.h> <nlohmann/json.hpp>)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${headers})
endfunction()

# Functions for several instruction sets: one file may hold one set.
set(DEEPGAP_ALONE
  ceilings/amx_kernels.cpp ceilings/fp32_kernels.cpp ceilings/half_kernels.cpp ceilings/int8_kernels.cpp ceilings/measure_ceilings.cpp
  engine/cpu/attention_f32.cpp engine/decoder/kernels_avx2.cpp engine/decoder/kernels_vnni.cpp engine/decoder/kernels_plain.cpp)

# Sources define small functions of their own as they like, so who may be joined is read from them (tools/join_groups.py) whenever the build is
# configured: once for all targets, since starting Python takes longer than reading. MOST: sources at a time, 16 where nothing is said; less
# where what they include is so much that memory would be short.
function(deepgap_join target)
  cmake_parse_arguments(arg "" "MOST" "" ${ARGN})
  if(NOT DEEPGAP_JOINED)
    return()
  endif()
  if(NOT arg_MOST)
    set(arg_MOST 16)
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/src OUTPUT_VARIABLE name)
    if(name IN_LIST DEEPGAP_ALONE)
      list(REMOVE_ITEM sources ${source})
      set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
  if(NOT sources)
    return()
  endif()
  # What nearly every source of some modules has, a registrar of this name, gets the file's own.
  set(names "#define DEEPGAP_JOIN_(a, b) a##b\n#define DEEPGAP_JOIN(a, b) DEEPGAP_JOIN_(a, b)\n")
  string(APPEND names "#define registered DEEPGAP_JOIN(registered_, DEEPGAP_FILE)\n")
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP UNITY_BUILD_UNIQUE_ID DEEPGAP_FILE
    UNITY_BUILD_CODE_BEFORE_INCLUDE "${names}")
  list(JOIN sources " " sources)
  set_property(GLOBAL APPEND PROPERTY DEEPGAP_JOINS "${target} ${arg_MOST} ${sources}")
endfunction()

# After all targets: gives each source that may be joined its group.
function(deepgap_set_join_groups)
  get_property(joins GLOBAL PROPERTY DEEPGAP_JOINS)
  if(NOT joins)
    return()
  endif()
  list(JOIN joins "\n" text)
  file(WRITE ${PROJECT_BINARY_DIR}/join_targets.txt "${text}\n")
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/join_groups.py ${PROJECT_BINARY_DIR}/join_targets.txt
    OUTPUT_VARIABLE groups OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" groups "${groups}")
  foreach(line ${groups})
    separate_arguments(words UNIX_COMMAND "${line}")
    list(GET words 0 target)
    list(GET words 1 group)
    list(SUBLIST words 2 -1 sources)
    set_source_files_properties(${sources} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${target}_${group})
  endforeach()
endfunction()
