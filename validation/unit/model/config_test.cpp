#include "trireme/model/config.hpp"

#include <gtest/gtest.h>

#include "trireme/base/error.hpp"
#include "trireme/model/model.hpp"

namespace trireme {
namespace {

std::string complaint(const ModelConfig& config) {
    try {
        check_model(config);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(Model, HasHuggingFacesParameterCounts) {
    ModelConfig gpt2 = model_named("gpt2");
    EXPECT_EQ(parameter_count(gpt2), 124'439'808U);

    gpt2.tied = false;
    EXPECT_EQ(parameter_count(gpt2), 163'037'184U);
    EXPECT_EQ(parameter_count(model_named("gpt2-medium")), 354'823'168U);
    EXPECT_EQ(parameter_count(model_named("gpt2-large")), 774'030'080U);
    EXPECT_EQ(parameter_count(model_named("gpt2-xl")), 1'557'611'200U);
}

TEST(Model, CutsIntoHalvesOfBlocks) { EXPECT_EQ(build_layers(model_named("gpt2")).size(), 27U); }

TEST(Model, NamesTheNearestKnownOne) {
    try {
        model_named("gtp2");
        FAIL() << "gtp2 was accepted";
    } catch (const ConfigError& error) {
        EXPECT_NE(std::string(error.what()).find("did you mean gpt2?"), std::string::npos) << error.what();
    }
}

TEST(Model, RefusesSizesThatContradictEachOther) {
    ModelConfig odd = model_named("gpt2");
    odd.heads = 7;
    ModelConfig empty = model_named("gpt2");
    empty.layers = 0;

    EXPECT_EQ(complaint(odd),
              "--width 768 is not a multiple of --heads 7; every head needs the same number of channels");
    EXPECT_EQ(complaint(empty), "--layers is 0; a model needs at least 1");
}

}  // namespace
}  // namespace trireme
