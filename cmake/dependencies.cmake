# Everything from outside, found once. Debian packages by CMake config or pkg-config, wheels in the virtual environment .venv.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(tomlplusplus CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(Protobuf REQUIRED)
find_package(Boost CONFIG REQUIRED)
if(NOT DEEPGAP_FUZZ)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
endif()
# oneDNN 3.2 of the wheel onednn-devel-cpu-gomp; docs/results/lab-notes/onednn-choice.md says why not Debian's.
find_package(dnnl 3 CONFIG REQUIRED PATHS ${PROJECT_SOURCE_DIR}/.venv/lib/cmake/dnnl NO_DEFAULT_PATH)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(turbojpeg REQUIRED IMPORTED_TARGET libturbojpeg)
pkg_check_modules(spng REQUIRED IMPORTED_TARGET spng)
if(DEEPGAP_TESTS)
  find_package(GTest CONFIG REQUIRED)
endif()
if(DEEPGAP_BENCH)
  find_package(benchmark CONFIG REQUIRED)
endif()

file(GLOB deepgap_site_packages ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages)
set(DEEPGAP_SITE_PACKAGES "${deepgap_site_packages}" CACHE PATH "Where the wheels are unpacked")

# Warnings and hardening for all of our own code.
add_library(deepgap_options INTERFACE)
target_compile_options(deepgap_options INTERFACE
  -Wall -Wextra -Wnon-virtual-dtor -Wno-missing-field-initializers
  # Among joined sources, a name of one file may be a parameter of another, and no source is the main file.
  $<$<NOT:$<BOOL:${DEEPGAP_JOINED}>>:-Wshadow>
  $<$<AND:$<BOOL:${DEEPGAP_JOINED}>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>
  # Exact floating point: the evaluator promises the same bits everywhere; kernels ask for fused operations by name.
  -ffp-contract=off
  # Statics in inline functions stay each library's own (see CMakeLists.txt).
  $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
target_link_libraries(deepgap_options INTERFACE Threads::Threads fmt::fmt)

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache knows a precompiled header by its bytes, if it may leave out the macros that were defined before it.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()

# MLPerf's LoadGen, which tests and benches compare with, out of its source distribution, where it is there.
file(GLOB DEEPGAP_LOADGEN ${PROJECT_SOURCE_DIR}/.venv/loadgen/mlcommons_loadgen-*)
if(EXISTS ${DEEPGAP_LOADGEN}/loadgen.cc)
  file(GLOB loadgen_sources ${DEEPGAP_LOADGEN}/*.cc ${DEEPGAP_LOADGEN}/generated/*.cc)
  function(deepgap_loadgen target level)
    add_library(${target} STATIC EXCLUDE_FROM_ALL ${loadgen_sources})
    target_include_directories(${target} SYSTEM PUBLIC ${DEEPGAP_LOADGEN})
    target_compile_options(${target} PRIVATE -w ${level})
    target_link_libraries(${target} PUBLIC Threads::Threads)
  endfunction()
  # Tests ask what it does, benches how fast.
  deepgap_loadgen(loadgen_reference -O1)
  deepgap_loadgen(loadgen_fast -O3)
else()
  message(STATUS "LoadGen's sources are not in .venv/loadgen: comparisons with it are left out; ./check fetches them")
endif()
