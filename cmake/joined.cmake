# A build from nothing: the compiler reads several sources of a target at a time, and what they all include once. Off by default: who works on
# a file wants that file alone compiled, and found again in ccache by other trees. ./quickstart turns it on.
option(DEEPGAP_JOINED "Compile up to eight sources at a time" OFF)

# Functions for several instruction sets: one file may hold one set.
set(DEEPGAP_ALONE
  ceilings/amx_kernels.cpp ceilings/fp32_kernels.cpp ceilings/half_kernels.cpp ceilings/int8_kernels.cpp ceilings/measure_ceilings.cpp
  engine/cpu/attention_f32.cpp engine/decoder/kernels_avx2.cpp engine/decoder/kernels_vnni.cpp engine/decoder/kernels_plain.cpp)

# Sources define small functions of their own as they like, so who may be joined is read from them (tools/join_groups.py) whenever the build is
# configured. MOST: sources at a time, 8 where nothing is said; less where what they include is so much that memory would be short.
function(deepgap_join target)
  cmake_parse_arguments(arg "" "MOST" "" ${ARGN})
  if(NOT DEEPGAP_JOINED)
    return()
  endif()
  if(NOT arg_MOST)
    set(arg_MOST 8)
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/src OUTPUT_VARIABLE name)
    if(name IN_LIST DEEPGAP_ALONE)
      list(REMOVE_ITEM sources ${source})
    endif()
  endforeach()
  execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/join_groups.py --most ${arg_MOST} ${sources}
    OUTPUT_VARIABLE groups OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" groups "${groups}")
  # What nearly every source of some rooms has, a registrar of this name, gets the file's own.
  set(names "#define DEEPGAP_JOIN_(a, b) a##b\n#define DEEPGAP_JOIN(a, b) DEEPGAP_JOIN_(a, b)\n")
  string(APPEND names "#define registered DEEPGAP_JOIN(registered_, DEEPGAP_FILE)\n")
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP UNITY_BUILD_UNIQUE_ID DEEPGAP_FILE
    UNITY_BUILD_CODE_BEFORE_INCLUDE "${names}")
  foreach(source group IN ZIP_LISTS sources groups)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${target}_${group})
  endforeach()
endfunction()
