// Tests the options of `convert`.
#include <gtest/gtest.h>

#include "unit/app/arguments.hpp"

namespace trireme::app {
namespace {

tools::ConvertConfig parsed(const std::string& line) { return std::get<tools::ConvertConfig>(parse(line)); }

TEST(ConvertOptions, TakeAnInputAndAnOutput) {
    const tools::ConvertConfig config = parsed("convert in out");

    EXPECT_EQ(config.input, "in");
    EXPECT_EQ(config.output, "out");
    EXPECT_FALSE(config.dtype.has_value());
    EXPECT_EQ(config.shard_bytes, 5'000'000'000U);
    EXPECT_EQ(complaint("convert in"),
              "convert takes an input and an output folder, not 1 name; see trireme convert --help");
    EXPECT_EQ(complaint("convert a b c"),
              "convert takes an input and an output folder, not 3 names; see trireme convert --help");
}

TEST(ConvertOptions, SetTheDataTypeOfTheWeights) {
    EXPECT_EQ(parsed("convert in out --dtype bf16").dtype, archive::StoredType::bf16);
    EXPECT_EQ(parsed("convert in out --dtype=f64 --quiet").dtype, archive::StoredType::f64);
    EXPECT_EQ(complaint("convert in out --dtype fp16"),
              "--dtype expects one of f32, bf16, f16, f64, not 'fp16'; did you mean f16?");
}

TEST(ConvertOptions, ReadByteCountsInDecimalAndBinaryUnits) {
    EXPECT_EQ(parsed("convert in out --shard-size 2GB").shard_bytes, 2'000'000'000U);
    EXPECT_EQ(parsed("convert in out --shard-size 500MB").shard_bytes, 500'000'000U);
    EXPECT_EQ(parsed("convert in out --shard-size 80GiB").shard_bytes, std::uint64_t{80} << 30);
    EXPECT_EQ(parsed("convert in out --shard-size 3KiB").shard_bytes, 3072U);
    EXPECT_EQ(parsed("convert in out --shard-size 20kB").shard_bytes, 20'000U);
    EXPECT_EQ(parsed("convert in out --shard-size 12345").shard_bytes, 12'345U);
    for (const char* wrong : {"0", "5TB", "GB", "-1", "1.5GB", "99999999999GB", "5 GB5"})
        EXPECT_NE(complaint(std::string("convert in out --shard-size=") + wrong), "") << wrong;
    EXPECT_EQ(complaint("convert in out --shard-size 5TB"),
              "--shard-size expects a positive number of bytes, such as 80GiB, 5GB, 500MB or 20000, not '5TB'");
}

}  // namespace
}  // namespace trireme::app
