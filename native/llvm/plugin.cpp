// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plugin of opt and clang: tasks as passes.
#include "llvm/passes/PolicyPass.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"

using namespace llvm;

extern "C" __attribute__((visibility("default"))) PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "mlcb_gym", LLVM_VERSION_STRING, mlcb::registerPolicyPasses};
}
