// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/worker/BeginRequest.h"

#include "spec/Json.h"

#include "llvm/Support/Base64.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

namespace mlcb {

static bool fromJSON(const json::Value &Value, Limits &Out, json::Path P) {
  json::ObjectMapper Map(Value, P);
  return Map && Map.mapOptional("cpu_seconds", Out.CpuSeconds) && Map.mapOptional("turn_seconds", Out.TurnSeconds) &&
         Map.mapOptional("memory_bytes", Out.MemoryBytes);
}

static bool fromJSON(const json::Value &Value, TargetName &Out, json::Path P) {
  json::ObjectMapper Map(Value, P);
  return Map && Map.mapOptional("triple", Out.Triple) && Map.mapOptional("cpu", Out.Cpu);
}

static bool fromJSON(const json::Value &Value, BeginRequest &Out, json::Path P) {
  json::ObjectMapper Map(Value, P);
  return Map && Map.map("digest", Out.Digest) && Map.map("program", Out.Program) && Map.mapOptional("metrics", Out.Metrics) &&
         Map.mapOptional("limits", Out.Bounds) && Map.mapOptional("forbidden", Out.Forbidden) && Map.mapOptional("target", Out.Target) &&
         Map.mapOptional("verify", Out.Verify) && Map.mapOptional("models", Out.Models);
}

Expected<BeginRequest> BeginRequest::fromJson(std::string_view Text) {
  if (isTooDeep(Text)) // LLVM's parser calls itself for what is nested, as deep as the text says
    return fail(ErrorKind::ProtocolError, "begin: nested too deeply, expected at most " + std::to_string(MaxJsonDepth) + " levels");
  json::Path::Root Root("begin");
  BeginRequest Result;
  std::string When(name(Measure::Always)), Encoded;
  llvm::Expected<json::Value> Parsed = json::parse(Text);
  if (!Parsed)
    return fail(ErrorKind::ProtocolError, "begin: " + toString(Parsed.takeError()));
  json::ObjectMapper Map(*Parsed, Root);
  if (!fromJSON(*Parsed, Result, Root) || !Map.mapOptional("measure", When) || !Map.mapOptional("bitcode", Encoded))
    return fail(ErrorKind::ProtocolError, toString(Root.getError()));
  std::vector<char> Decoded;
  if (llvm::Error Why = decodeBase64(Encoded, Decoded))
    return fail(ErrorKind::ProtocolError, "begin: bitcode: " + toString(std::move(Why)));
  Result.Bitcode.assign(Decoded.begin(), Decoded.end());
  return readMeasure(When).map([&](Measure Read) {
    Result.When = Read;
    return Result;
  });
}

} // namespace mlcb
