// Tests that checkpoints are written and read back.
#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>

#include "error_message.hpp"
#include "trireme/archive/hdf5_file.hpp"
#include "trireme/base/error.hpp"
#include "trireme/checkpoint/stored_model.hpp"
#include "unit/checkpoint/small_model.hpp"
#include "unit/checkpoint/written.hpp"

namespace trireme::checkpoint {
namespace {

namespace fs = std::filesystem;
using validation::catch_message;
using validation::read_whole;
using validation::says;
using validation::ScratchFolder;
using validation::WholeState;
using Names = std::vector<std::string>;

class Checkpoint : public testing::Test {
protected:
    fs::path write(std::uint64_t step, const std::string& tokenizer = "") const {
        return validation::write_values(folder_.file("checkpoints"), config_, whole_, step, tokenizer);
    }

    void expect_values(const StoredModel& stored) const {
        const model::ParameterTensors found(specs_, device::DType::f32, device::MemorySpace::host);
        load_parameters(stored, specs_, found);
        for (std::size_t i = 0; i < specs_.size(); ++i)
            for (std::size_t e = 0; e < specs_[i].size(); ++e)
                ASSERT_EQ(found[i].flattened().as<float>()[e], values_[i].flattened().as<float>()[e]);
    }

    fs::path part() const {
        for (const fs::directory_entry& entry : fs::directory_iterator(folder_.file("checkpoints/step-3")))
            if (entry.path().filename().string().starts_with("part-")) return entry.path();
        return {};
    }

    std::string refusal() const {
        return catch_message<ConfigError>([&] { StoredModel::open(folder_.file("checkpoints")).verify(); });
    }

    ScratchFolder folder_;
    model::ModelConfig config_ = small_config();
    WholeState whole_{specs_of(config_), 0};
    const std::vector<model::ParameterSpec>& specs_ = whole_.specs;
    const model::ParameterTensors& values_ = whole_.fields.front();
};

TEST_F(Checkpoint, IsReadBackUnchanged) {
    const fs::path path = write(3, "{\"a\": 1}");

    const StoredModel stored = StoredModel::open(path);

    EXPECT_EQ(path, folder_.file("checkpoints/step-3"));
    EXPECT_TRUE(stored.is_checkpoint());
    EXPECT_EQ(stored.step(), 3U);
    EXPECT_EQ(stored.config(), config_);
    EXPECT_EQ(stored.tokenizer(), "{\"a\": 1}");
    EXPECT_EQ(stored.find_original_type(specs_[0]), archive::StoredType::bf16);
    EXPECT_EQ(stored.list_unused_tensors(specs_), Names{});
    expect_values(stored);
}

TEST_F(Checkpoint, IsFoundFromTheRunDirectory) {
    write(3);
    write(12);

    EXPECT_EQ(read_whole(folder_.file("checkpoints/latest")), "step-12\n");
    EXPECT_EQ(StoredModel::open(folder_.file("checkpoints")).step(), 12U);
    EXPECT_EQ(StoredModel::open(folder_.file("")).step(), 12U);
    EXPECT_EQ(StoredModel::open(folder_.file("checkpoints/step-3")).step(), 3U);
}

TEST_F(Checkpoint, IsFoundWithoutTheLatestFile) {
    write(3);
    write(12);
    fs::remove(folder_.file("checkpoints/latest"));

    EXPECT_EQ(StoredModel::open(folder_.file("checkpoints")).step(), 12U);
}

TEST_F(Checkpoint, LeavesNoFilesIfWritingFails) {
    write(3);
    const ModelDescription description = validation::description_of(config_, whole_);
    CheckpointState state =
        make_checkpoint_state(description, validation::tensors_of(whole_, archive::StoredType::f32));
    state.step = 4;
    const auto fails = [](std::size_t, layout::Range) -> std::span<const std::byte> {
        throw ConfigError("no such rows");
    };

    EXPECT_THROW(write_checkpoint(folder_.file("checkpoints"), state, description, fails,
                                  archive::ExistingFolder::replace),
                 ConfigError);

    std::size_t entries = 0;
    for (const auto& entry : fs::directory_iterator(folder_.file("checkpoints"))) entries += entry.exists();
    EXPECT_EQ(entries, 2U);  // step-3 and latest
}

TEST_F(Checkpoint, ReplacesTheCheckpointOfTheSameStep) {
    write(3);
    const fs::path first = part();
    values_[0].flattened().as<float>()[0] = 42;

    write(3);

    EXPECT_NE(part(), first);
    EXPECT_FALSE(fs::exists(first));
    expect_values(StoredModel::open(folder_.file("checkpoints")));
}

TEST_F(Checkpoint, ShowsCompleteTensorsInItsModelFile) {
    write(3);

    const archive::hdf5::Handle file =
        archive::hdf5::open_read_only(folder_.file("checkpoints/step-3/model.h5"));
    const archive::hdf5::Handle dataset(
        H5Dopen2(file.get(), cat("/parameters/", specs_[1].name).c_str(), H5P_DEFAULT), H5Dclose);
    std::vector<float> found(specs_[1].size());
    ASSERT_GE(H5Dread(dataset.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, found.data()), 0);

    for (std::size_t e = 0; e < found.size(); ++e) EXPECT_EQ(found[e], values_[1].flattened().as<float>()[e]);
}

TEST_F(Checkpoint, KeepsDoublesAndRoundsThemOnceWhenRead) {
    const WholeState doubles(specs_, 0, device::DType::f64);
    const auto first = doubles.fields[0][0].flattened().as<double>();
    first[0] = 1 + 0x1p-8 + 0x1p-40;
    first[1] = 1.0 / 3;
    const StoredModel stored = StoredModel::open(
        validation::write_values(folder_.file(""), config_, doubles, 0, "", archive::StoredType::f64));

    const model::ParameterTensors whole(specs_, device::DType::f64, device::MemorySpace::host);
    stored.read(specs_[0], whole[0]);
    std::vector<std::uint16_t> narrow(specs_[0].size());
    stored.read(specs_[0], archive::StoredType::bf16, std::as_writable_bytes(std::span(narrow)));

    EXPECT_EQ(whole[0].flattened().as<double>()[0], first[0]);
    EXPECT_EQ(whole[0].flattened().as<double>()[1], first[1]);
    EXPECT_EQ(narrow[0], 0x3F81);
}

TEST_F(Checkpoint, DetectsAFlippedBitOfAValue) {
    write(3);
    std::string bytes = read_whole(part().string());
    const float value = values_[2].flattened().as<float>()[0];
    const std::size_t at = bytes.find(std::string(reinterpret_cast<const char*>(&value), sizeof value));
    ASSERT_NE(at, std::string::npos);
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    folder_.write(fs::relative(part(), folder_.file("")).string(), bytes);

    EXPECT_TRUE(
        says(refusal(), part().string() + " is damaged: the SHA-256 of /parameters/" + specs_[2].name + "[0:"));
}

// The flipped bits cover HDF5's own structures, the attributes, the values and unused bytes of a part.
TEST_F(Checkpoint, DetectsFlippedBitsOrReadsTheRightValues) {
    write(3);
    const std::string name = part().string();
    const std::string whole = read_whole(name);
    std::size_t refused = 0;
    for (std::size_t at = 0; at < whole.size(); at += 211) {
        std::string bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << at % 8));
        folder_.write(fs::relative(name, folder_.file("")).string(), bytes);
        try {
            expect_values(StoredModel::open(folder_.file("checkpoints")));
        } catch (const ConfigError&) {
            ++refused;
        }
    }

    EXPECT_GT(refused, 40U);
}

TEST_F(Checkpoint, NamesATruncatedPart) {
    write(3);
    fs::resize_file(part(), fs::file_size(part()) / 2);

    EXPECT_TRUE(says(refusal(), part().string() + " is cut short, damaged or not an HDF5 file"));
    EXPECT_TRUE(says(refusal(), "copy the checkpoint again, or use another one"));
}

TEST_F(Checkpoint, RejectsPartsOfSeveralSaves) {
    write(3);
    fs::copy_file(part(), folder_.file("checkpoints/step-3/part-00000000-0.h5"));

    EXPECT_TRUE(says(refusal(), "holds parts of several saves"));
}

TEST_F(Checkpoint, RejectsAPartOfADifferentSave) {
    write(3);
    const fs::path own = part();
    const std::string foreign = validation::write_values(folder_.file("other"), config_, whole_, 3).string();
    for (const auto& entry : fs::directory_iterator(foreign))
        if (entry.path().filename().string().starts_with("part-"))
            fs::copy_file(entry.path(), own, fs::copy_options::overwrite_existing);

    EXPECT_TRUE(says(refusal(), own.string() + " is from another save than its name and state.json say"));
}

TEST_F(Checkpoint, NamesAMissingPart) {
    write(3);
    const fs::path own = part();
    fs::remove(own);

    EXPECT_TRUE(says(refusal(), "step-3 lacks " + own.filename().string() + ", which its state.json lists"));
}

TEST_F(Checkpoint, RejectsADamagedStateFile) {
    write(3);
    const std::string name = folder_.file("checkpoints/step-3/state.json");
    const std::string text = read_whole(name);
    const auto refusal_of = [&](const std::string& from, const std::string& to) {
        std::string changed = text;
        folder_.write("checkpoints/step-3/state.json", changed.replace(changed.find(from), from.size(), to));
        return refusal();
    };

    EXPECT_TRUE(
        says(refusal_of("\"step\":3", "\"step\":4"), "is from another save than its name and state.json"));
    EXPECT_TRUE(says(refusal_of("[0,0,5,0,4]", "[0,0,4,0,4]"), "state.json lists parts with 16 elements of"));
    EXPECT_TRUE(
        says(refusal_of("[0,0,5,0,4]", "[0,0,9,0,4]"), "state.json lists a box of part 0 that no tensor"));
    EXPECT_TRUE(says(refusal_of("\"rows\":5", "\"rows\":6"), "state.json describes "));
    EXPECT_TRUE(says(refusal_of("\"schema_version\":2", "\"schema_version\":3"), "by a newer Trireme"));
    for (const std::string step : {"-3", "3.5", "4e25", "true"})
        EXPECT_TRUE(
            says(refusal_of("\"step\":3", "\"step\":" + step), "where a non-negative integer is required"))
            << step;
    EXPECT_TRUE(says(refusal_of("{", "["), "state.json is not valid JSON"));
}

TEST_F(Checkpoint, RejectsAChangedTokenizer) {
    write(3, "{}");
    folder_.write("checkpoints/step-3/tokenizer.json", "{ }");

    EXPECT_TRUE(says(refusal(), "tokenizer.json does not belong to this checkpoint"));
}

TEST_F(Checkpoint, RejectsAChangedConfig) {
    write(3);
    std::string config = read_whole(folder_.file("checkpoints/step-3/config.json"));
    const std::size_t at = config.find("\"n_head\": 2");
    ASSERT_NE(at, std::string::npos);
    folder_.write("checkpoints/step-3/config.json", config.replace(at, 11, "\"n_head\": 4"));

    EXPECT_TRUE(says(refusal(), "config.json does not belong to this checkpoint"));
}

TEST_F(Checkpoint, RejectsTensorsThatItsConfigDoesNotHave) {
    std::vector<model::ParameterSpec> specs = specs_;
    specs.push_back(make_vector_spec("transformer.h.1.ln_1.weight", 4, model::Init::ones));
    validation::write_values(folder_.file("checkpoints"), config_, WholeState(specs, 0), 3);

    EXPECT_TRUE(says(refusal(),
                     "holds 1 tensor that the model of its config.json does not have: "
                     "transformer.h.1.ln_1.weight; copy the checkpoint again"));
}

TEST_F(Checkpoint, NamesMissingTensorsOfItsConfig) {
    const std::vector<model::ParameterSpec> all_but_one(specs_.begin() + 1, specs_.end());
    validation::write_values(folder_.file("checkpoints"), config_, WholeState(all_but_one, 0), 3);

    EXPECT_TRUE(
        says(refusal(), cat("lacks 1 of the model's ", specs_.size(), " parameters: ", specs_[0].name)));
}

TEST_F(Checkpoint, FindsADamagedOrMissingModelFileWhenVerified) {
    write(3);
    folder_.write("checkpoints/step-3/model.h5", "junk");
    EXPECT_TRUE(says(refusal(), "model.h5 is cut short, damaged or not an HDF5 file"));

    fs::remove(folder_.file("checkpoints/step-3/model.h5"));
    EXPECT_TRUE(says(refusal(), "model.h5 cannot be read: No such file"));
}

TEST_F(Checkpoint, RejectsAFifoInPlaceOfAPart) {
    write(3);
    const fs::path name = part();
    fs::remove(name);
    ASSERT_EQ(::mkfifo(name.c_str(), 0600), 0);

    EXPECT_TRUE(says(refusal(), name.string() + " is not a regular file (it is a FIFO)"));
}

TEST_F(Checkpoint, IsNotReplacedIfReplacementIsForbidden) {
    write(3);

    EXPECT_TRUE(says(catch_message<ConfigError>([&] {
                         validation::write_values(folder_.file("checkpoints"), config_, whole_, 3, "",
                                                  archive::StoredType::f32, archive::ExistingFolder::refuse);
                     }),
                     "checkpoints/step-3 already holds config.json"));
    expect_values(StoredModel::open(folder_.file("checkpoints")));
}

TEST_F(Checkpoint, IsFoundUnderANameWithLeadingZeros) {
    write(3);
    fs::rename(folder_.file("checkpoints/step-3"), folder_.file("checkpoints/step-00020"));
    fs::remove(folder_.file("checkpoints/latest"));

    EXPECT_EQ(StoredModel::open(folder_.file("checkpoints")).path(), folder_.file("checkpoints/step-00020"));
}

TEST_F(Checkpoint, IsFoundFromAnyOfItsFiles) {
    write(3);
    const fs::path folder = folder_.file("checkpoints/step-3");

    for (const fs::path& file : {folder / "model.h5", folder / "config.json", part(), folder / "../latest"})
        EXPECT_TRUE(fs::equivalent(find_model_of_file(file).value(), folder)) << file;
    EXPECT_FALSE(find_model_of_file(folder / "none.h5").has_value());
    EXPECT_FALSE(find_model_of_file(folder_.write("config.json", "{}")).has_value());
}

TEST_F(Checkpoint, NamesADamagedLatestFile) {
    write(3);
    folder_.write("checkpoints/latest", "../elsewhere\n");
    EXPECT_TRUE(says(refusal(), "latest is damaged: it does not name a folder step-N"));

    folder_.write("checkpoints/latest", "step-9\n");
    EXPECT_TRUE(says(refusal(), "latest names step-9, which does not exist"));
}

// A limit on the size of files stands for a full disk.
TEST_F(Checkpoint, ReportsAFullDiskAndKeepsThePreviousOne) {
    write(3);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit full{.rlim_cur = 8192, .rlim_max = before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);

    const std::string message = catch_message<ResourceError>([&] { write(4); });

    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, handler);
    EXPECT_TRUE(says(message, "cannot be written: File too large; raise the limit"));
    EXPECT_FALSE(fs::exists(folder_.file("checkpoints/step-4")));
    expect_values(StoredModel::open(folder_.file("checkpoints")));
}

TEST_F(Checkpoint, RejectsAPathThatCannotBeWritten) {
    folder_.write("checkpoints", "a file");

    EXPECT_TRUE(says(catch_message<ConfigError>([&] { write(3); }), "cannot be written: "));
}

}  // namespace
}  // namespace trireme::checkpoint
