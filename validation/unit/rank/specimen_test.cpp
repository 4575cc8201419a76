#include "trireme/rank/specimen.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "unit/data/small_corpus.hpp"

namespace trireme::rank {
namespace {

using validation::catch_message;
using validation::says;
using validation::ScratchFolder;

config::RunConfig config_of(const char* model) {
    config::RunConfig config;
    config.model.name = model;
    config.run.batch = 3;
    return config;
}

TEST(Specimen, HasTheMaximumLength) {
    config::RunConfig config = config_of("gpt2-tiny");
    const Specimen whole(config);
    config.data.max_length = 20;
    const Specimen shorter(config);

    EXPECT_EQ(whole.batch().rows(), 3U * 256);
    EXPECT_EQ(whole.batch().segments.size(), 3U);
    EXPECT_EQ(shorter.batch().rows(), 60U);
    EXPECT_EQ(shorter.batch().predicted_rows.columns, 60U);  // every next token
    EXPECT_EQ(shorter.model().vocabulary, 257U);
}

TEST(Specimen, HasTheNumberOfTargetsOfItsTask) {
    config::RunConfig config = config_of("bert-tiny");
    config.data.max_length = 20;
    const auto predictions = [&](Task task) {
        config.task.task = task;
        return Specimen(config).batch().predicted_rows.columns;
    };

    EXPECT_EQ(predictions(Task::masked), 3U * 3);
    EXPECT_EQ(predictions(Task::classify), 3U);
    config.task.task = Task::span;
    EXPECT_EQ(Specimen(config).batch().answers.rows, 3U);
    const Specimen images(config_of("vit-tiny"));
    EXPECT_EQ(images.batch().rows(), 3U * 65);
    EXPECT_EQ(images.batch().pixels.rows, 3U * 64);
}

TEST(Specimen, ReadsItsSamplesFromTheCorpus) {
    const ScratchFolder folder;
    validation::small_corpus(folder, {{1, 2, 3}, {4, 5, 6}});
    config::RunConfig config = config_of("gpt2-tiny");
    config.data.corpus = folder.file("corpus.h5");
    config.run.batch = 2;

    const Specimen specimen(config);

    EXPECT_EQ(specimen.batch().rows(), 6U);  // the next tokens of each row, and its end
    EXPECT_EQ(specimen.batch().segments.size(), 2U);
}

TEST(Specimen, UsesTheRequestedKernelsAndPrecision) {
    config::RunConfig config = config_of("gpt2-tiny");
    config.run.threads = 3;
    EXPECT_EQ(std::get<device::CpuStream>(Specimen(config).stream().backend).threads, 3);
    EXPECT_EQ(Specimen(config).dtype(), device::DType::f32);

    config.precision = {.dtype = config::Precision::f64, .device = config::DeviceKind::reference};
    EXPECT_TRUE(std::holds_alternative<device::ReferenceStream>(Specimen(config).stream().backend));
    EXPECT_EQ(Specimen(config).dtype(), device::DType::f64);
    config.run.threads = 0;
    config.precision.device = config::DeviceKind::cpu;
    EXPECT_GE(std::get<device::CpuStream>(Specimen(config).stream().backend).threads, 1);
}

TEST(Specimen, RejectsWhatTrainingRejects) {
    config::RunConfig config = config_of("gpt2-tiny");
    config.data.max_length = 300;

    EXPECT_TRUE(says(catch_message<ConfigError>([&] { Specimen{config}; }),
                     "--max-length 300 is beyond the 256 positions"));
}

}  // namespace
}  // namespace trireme::rank
