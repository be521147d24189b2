// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plugin of opt and clang: tasks as passes.
#include "llvm/deploy/LinkTime.h"
#include "llvm/deploy/PolicyPass.h"
#include "llvm/loops/LoopDistributionPass.h"

#include "llvm-c/Core.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"
#include "llvm/Support/CommandLine.h"

#include <cstdio>
#include <dlfcn.h>
#include <unistd.h>

using namespace llvm;

/// Before any other constructor of the plugin: with another LLVM than it was built for, none of them is safe, and of a second copy of it LLVM takes no
/// options.
__attribute__((constructor(101))) static void checkHost() {
  unsigned Major, Minor, Patch;
  LLVMGetVersion(&Major, &Minor, &Patch);
  if (Major != LLVM_VERSION_MAJOR || Minor != LLVM_VERSION_MINOR)
    std::fprintf(stderr, "mlcb: this plugin is built for LLVM %d.%d, the tool that loads it is LLVM %u.%u\n", LLVM_VERSION_MAJOR, LLVM_VERSION_MINOR,
                 Major, Minor);
  else if (Dl_info Here; cl::getRegisteredOptions().contains("mlcb-runner") && dladdr(reinterpret_cast<void *>(&checkHost), &Here))
    std::fprintf(stderr, "mlcb: %s is a second copy of the plugin: expected one configuration, which mlcb clang-config writes for several policies\n",
                 Here.dli_fname);
  else
    return;
  _exit(1);
}

/// Whether a builder has the plugin's passes already: two configuration files both name it.
static bool isRegistered(PassBuilder &Builder) {
  FunctionPassManager Passes;
  llvm::Error Unknown = Builder.parsePassPipeline(Passes, "mlcb-loop-distribute<never>");
  const bool Known = !Unknown;
  consumeError(std::move(Unknown));
  return Known;
}

extern "C" __attribute__((visibility("default"))) PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "mlcb_gym", LLVM_VERSION_STRING, [](PassBuilder &Builder) {
            if (isRegistered(Builder))
              return;
            mlcb::readOptionsBesidePlugin();
            mlcb::registerPolicyPasses(Builder);
            mlcb::registerLoopDistribution(Builder);
          }};
}
