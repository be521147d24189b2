# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# AllTasks.inc includes MLCB_TASK_VISITOR once for each tasks/*.def: a new task needs no other list.
file(GLOB MLCB_TASK_FILES CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} tasks/*.def)
set(MLCB_TASK_LINES "")
foreach(File ${MLCB_TASK_FILES})
  string(APPEND MLCB_TASK_LINES "#define MLCB_TASK \"${File}\"\n#include MLCB_TASK_VISITOR\n#undef MLCB_TASK\n")
endforeach()
set(MLCB_GENERATED_DIR ${CMAKE_CURRENT_BINARY_DIR}/generated)
file(CONFIGURE OUTPUT ${MLCB_GENERATED_DIR}/AllTasks.inc CONTENT "${MLCB_TASK_LINES}")
