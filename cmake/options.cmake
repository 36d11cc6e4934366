# Compiler settings shared by every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library(lirio_options INTERFACE)
target_include_directories(lirio_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(lirio_options INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror)
# GCC 12 warns wrongly about "literal" + std::string (GCC bug 105329).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(lirio_options INTERFACE -Wno-restrict)
endif()
# Bits must not depend on the compiler's taste for fused multiply-add: kernels ask for FMA by name (docs/numerics.md).
target_compile_options(lirio_options INTERFACE -ffp-contract=off)
# One binary for every x86-64 PC since 2009; faster paths are chosen at run time.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(lirio_options INTERFACE -march=x86-64-v2)
endif()
if(LIRIO_SANITIZE)
  target_compile_options(lirio_options INTERFACE -fsanitize=${LIRIO_SANITIZE} -fno-sanitize-recover=all
                                                 -fno-omit-frame-pointer)
  target_link_options(lirio_options INTERFACE -fsanitize=${LIRIO_SANITIZE})
endif()

# lirio_library(NAME DEPENDS target...): every .cc of the current folder as the static library lirio_NAME.
function(lirio_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;PRIVATE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  add_library(lirio_${name} STATIC ${sources})
  target_link_libraries(lirio_${name} PUBLIC lirio_options ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE})
endfunction()
