#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "unit/plan/small_profile.hpp"

namespace trireme::plan {
namespace {

using Json = nlohmann::ordered_json;
using validation::small_profile;

Profile linked_profile() {
    Profile profile = small_profile(2);
    profile.links = {{.ranks = 4, .link = {.latency = 1e-6, .bandwidth = 1e10}},
                     {.ranks = 8, .link = {.latency = 1e-5, .bandwidth = 1e9}},
                     {.link = {.latency = 0, .bandwidth = 3e8}}};
    return profile;
}

Profile profile_of_kernels() {
    Profile profile = small_profile(1);
    profile.kernels = {{.kernel = "linear",
                        .call = {.flops = 48, .bytes = 208, .matmul = {2, 3, 4}},
                        .calls = 6,
                        .seconds = 0.1234567890123456},
                       {.kernel = "fill", .call = {.bytes = 64}, .calls = 2, .seconds = 3e-7}};
    return profile;
}

// Returns the error message about the linked profile after `change`.
std::string refusal(void (*change)(Json&)) {
    Json json = Json::parse(to_json(linked_profile()));
    change(json);
    return validation::catch_message<ConfigError>([&] { parse_profile(json.dump(), "my.json"); });
}

TEST(ProfileJson, IsReadBackAsItWasWritten) {
    Profile plain = small_profile(3);
    plain.layers[1].forward = 0.1234567890123456;
    plain.layers[1].measured = 0;

    EXPECT_EQ(parse_profile(to_json(plain), "it"), plain);
    EXPECT_EQ(parse_profile(to_json(linked_profile()), "it"), linked_profile());
    EXPECT_EQ(parse_profile(to_json(profile_of_kernels()), "it"), profile_of_kernels());
}

TEST(ProfileJson, HasTheDocumentedFormat) {
    const Json json = Json::parse(to_json(linked_profile()));

    EXPECT_EQ(json["schema"], 1);
    EXPECT_EQ(json["machine"], "abacus");
    EXPECT_EQ(json["micro_batch"].dump(),
              R"({"samples":4,"tokens":256,"real_tokens":256,"square_length_sum":16384,"predicted_rows":256})");
    EXPECT_EQ(
        json["layers"][1].dump(),
        R"({"name":"attention","measured":1,"seconds":{"forward":2.0,"backward":6.0,"backward_input":4.0,)"
        R"("backward_weight":4.0,"update":16.0},)"
        R"("bytes":{"activation":200,"rows":64,"parameters":2000,"workspace":20}})");
    EXPECT_EQ(json["links"][2].dump(), R"({"latency":0.0,"bandwidth":300000000.0})");
    EXPECT_FALSE(Json::parse(to_json(small_profile(1))).contains("links"));
}

TEST(ProfileJson, HasTheDocumentedFormatOfKernels) {
    const Json json = Json::parse(to_json(profile_of_kernels()));

    EXPECT_EQ(json["kernels"][0].dump(),
              R"({"kernel":"linear","product":[2,3,4],"flops":48.0,"bytes":208.0,"calls":6,)"
              R"("seconds":0.1234567890123456})");
    EXPECT_EQ(json["kernels"][1].dump(),
              R"({"kernel":"fill","flops":0.0,"bytes":64.0,"calls":2,"seconds":3e-07})");
    EXPECT_FALSE(Json::parse(to_json(small_profile(1))).contains("kernels"));
}

TEST(ProfileJson, RejectsInvalidKernels) {
    const auto said = [](void (*change)(Json&)) {
        Json json = Json::parse(to_json(profile_of_kernels()));
        change(json["kernels"][0]);
        return validation::catch_message<ConfigError>([&] { parse_profile(json.dump(), "my.json"); });
    };
    EXPECT_EQ(said([](Json& kernel) { kernel["seconds"] = 0; }),
              "my.json: kernels[0].seconds is 0; it must be above 0");
    EXPECT_EQ(said([](Json& kernel) { kernel["bytes"] = 0; }),
              "my.json: kernels[0].bytes is 0; it must be above 0");
    EXPECT_EQ(said([](Json& kernel) {
                  kernel["product"] = {1, 2};
              }),
              "my.json: kernels[0].product is [1,2]; it must be a list of rows, columns and depth");
    EXPECT_EQ(said([](Json& kernel) { kernel["product"][1] = 0; }),
              "my.json: kernels[0].product[1] is 0; it must be at least 1");
}

TEST(ProfileJson, NamesMissingAndUnknownKeys) {
    EXPECT_EQ(
        refusal([](Json& json) { json.erase("dtype"); }),
        "my.json has no \"dtype\"; the known keys are schema, machine, device, threads, repeats, model, dtype, "
        "micro_batch, layers, kernels, launch, links");
    EXPECT_EQ(refusal([](Json& json) { json["layers"][1]["second"] = 3; }),
              "my.json: layers[1] has an unknown key \"second\"; did you mean seconds?");
    EXPECT_EQ(
        refusal([](Json& json) { json["layers"][0]["seconds"].erase("update"); }),
        "my.json: layers[0].seconds has no \"update\"; the known keys are forward, backward, backward_input, "
        "backward_weight, update");
    EXPECT_EQ(refusal([](Json& json) { json["layers"] = 7; }), "my.json: layers is 7; it must be a list");
}

TEST(ProfileJson, RejectsInvalidValues) {
    EXPECT_EQ(refusal([](Json& json) { json["layers"][0]["seconds"]["forward"] = -1; }),
              "my.json: layers[0].seconds.forward is -1; it must be a number of at least 0");
    EXPECT_EQ(refusal([](Json& json) { json["layers"][0]["seconds"]["forward"] = "fast"; }),
              "my.json: layers[0].seconds.forward is \"fast\"; it must be a number of at least 0");
    EXPECT_EQ(refusal([](Json& json) { json["layers"][0]["seconds"]["forward"] = 1e308; }),
              "my.json: layers[0].seconds.forward is 1e+308; it must be a number of at most 1e+30");
    EXPECT_EQ(refusal([](Json& json) { json["layers"][0]["bytes"]["rows"] = 0.5; }),
              "my.json: layers[0].bytes.rows is 0.5; it must be a whole number from 0 to 9007199254740992");
    EXPECT_EQ(refusal([](Json& json) { json["layers"][1]["measured"] = 2; }),
              "my.json: layers[1].measured is 2; it must be a layer from 0 to 1");
    EXPECT_EQ(refusal([](Json& json) { json["model"] = 7; }), "my.json: model is 7; it must be a string");
}

TEST(ProfileJson, RejectsADifferentSchemaVersion) {
    EXPECT_EQ(refusal([](Json& json) { json["schema"] = 2; }),
              "my.json: schema is 2; it must be 1 for this program; measure the profile again");
}

TEST(ProfileJson, RejectsInvalidLinks) {
    EXPECT_EQ(refusal([](Json& json) { json["links"][0]["bandwidth"] = 0; }),
              "my.json: links[0].bandwidth is 0; it must be above 0 (bytes per second)");
    EXPECT_EQ(refusal([](Json& json) { json["links"][1]["ranks"] = 6; }),
              "my.json: links[1].ranks is 6; it must be a multiple of 4 above 4, because links are listed from "
              "the smallest to the largest groups");
    EXPECT_EQ(refusal([](Json& json) { json["links"][0]["ranks"] = 1; }),
              "my.json: links[0].ranks is 1; it must be a multiple of 1 above 1, because links are listed from "
              "the smallest to the largest groups");
    EXPECT_TRUE(validation::says(refusal([](Json& json) { json["links"][1].erase("ranks"); }),
                                 "it must be an object with \"ranks\", the number of ranks per group"));
    EXPECT_TRUE(validation::says(refusal([](Json& json) { json["links"][2]["ranks"] = 16; }),
                                 "it must be without \"ranks\", because the last link joins all ranks"));
}

}  // namespace
}  // namespace trireme::plan
