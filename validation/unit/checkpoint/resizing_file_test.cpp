// Tests the files in which ranks store the state of their skipped channels.
#include "trireme/checkpoint/resizing_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/archive/partial_folder.hpp"
#include "trireme/base/error.hpp"
#include "trireme/model/parameter.hpp"

namespace trireme::checkpoint {
namespace {

using validation::catch_message;
using validation::read_whole;
using validation::says;
using validation::ScratchFolder;

// The state of two projections with five channels in all, and one stored vector of each type.
struct Remembered {
    model::ParameterTensors weights{
        {model::make_matrix_spec("weights", 3, 7, 0)}, device::DType::f32, device::MemorySpace::host};
    model::ParameterTensors gradients{
        {model::make_matrix_spec("gradients", 5, 2, 0)}, device::DType::f64, device::MemorySpace::host};
    model::ResizingState state{.variation = std::vector<double>(5),
                               .kept = std::vector<std::uint8_t>(5),
                               .last_rows = {0, 0},
                               .memory = {weights.all(), gradients.all()}};
};

Remembered example_state() {
    Remembered made;
    made.state.period = 12;
    made.state.variation = {0.1, 1, 1.0 / 3, 4e-300, 5};
    made.state.kept = {1, 0, 0, 1, 1};
    made.state.last_rows = {8, 31};
    const auto weights = made.weights.all().as<float>();
    for (std::size_t e = 0; e < made.weights.all().size(); ++e) weights[e] = static_cast<float>(e) / 7;
    made.gradients[0].as<double>()(4, 1) = 1.0 / 7;
    return made;
}

class ResizingFile : public testing::Test {
protected:
    void SetUp() override { write_resizing(folder_.file(""), "0123abcd", 3, example_state().state).sync(); }

    std::string path() const { return folder_.file("resizing-0123abcd-3.h5"); }
    std::string refusal(int rank = 3, std::size_t channels = 5) const {
        Remembered found;
        found.state.variation.resize(channels);
        return catch_message<ConfigError>(
            [&] { read_resizing(folder_.file(""), "0123abcd", rank, found.state); });
    }

    ScratchFolder folder_;
};

TEST_F(ResizingFile, RestoresTheWrittenState) {
    const Remembered written = example_state();
    Remembered found;

    read_resizing(folder_.file(""), "0123abcd", 3, found.state);

    EXPECT_EQ(found.state.period, 12);
    EXPECT_EQ(found.state.variation, written.state.variation);
    EXPECT_EQ(found.state.kept, written.state.kept);
    EXPECT_EQ(found.state.last_rows, written.state.last_rows);
    EXPECT_EQ(found.weights[0].as<float>()(2, 6), written.weights[0].as<float>()(2, 6));
    EXPECT_EQ(found.gradients[0].as<double>()(4, 1), 1.0 / 7);
}

TEST_F(ResizingFile, IsRejectedIfItIsOfADifferentRunOrRank) {
    EXPECT_TRUE(says(refusal(2), "resizing-0123abcd-2.h5"));
    EXPECT_TRUE(says(refusal(3, 4), path() + " does not match the resizing of this run: /variation has 40"));
    std::filesystem::copy_file(path(), folder_.file("resizing-0123abcd-2.h5"));
    EXPECT_TRUE(says(refusal(2), "is from another save or rank than its name says; copy the checkpoint again"));
}

TEST_F(ResizingFile, IsRejectedIfDamagedTruncatedOrMissing) {
    const std::string whole = read_whole(path());

    std::string bytes = whole;
    bytes[bytes.size() - 5] = static_cast<char>(bytes[bytes.size() - 5] ^ 1);
    archive::write_file_atomically(path(), bytes);
    EXPECT_TRUE(says(refusal(), path() + " is damaged: its contents do not match its SHA-256"));
    archive::write_file_atomically(path(), whole.substr(0, whole.size() / 2));
    EXPECT_TRUE(says(refusal(), "is cut short, damaged or not an HDF5 file"));
    std::filesystem::remove(path());
    EXPECT_TRUE(says(refusal(), path()));
}

}  // namespace
}  // namespace trireme::checkpoint
