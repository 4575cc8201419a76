// Tests checkpoints that several ranks write and that others read.
#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <set>

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

class SharedSave : public testing::Test {
protected:
    fs::path checkpoints() const { return folder_.file("checkpoints"); }

    fs::path write(std::uint64_t step, std::size_t ranks = 3, const PhaseObserver& before = {}) const {
        return validation::write_shared(checkpoints(), config_, whole_, shared(step, ranks), before);
    }
    CheckpointState shared(std::uint64_t step, std::size_t ranks, bool columns = false) const {
        return validation::shared_state(config_, whole_, step, ranks, columns);
    }

    // Expects that `stored` has all fields of all tensors; `threads` threads read them.
    void expect_all(const StoredModel& stored, int threads = 3) const {
        const WholeState found(whole_.specs, 2);
        for (const model::ParameterTensors& field : found.fields)
            std::memset(field.all().data, 0, field.all().bytes());
        stored.read(found.views(), threads);
        for (std::size_t f = 0; f < found.fields.size(); ++f)
            EXPECT_EQ(std::memcmp(found.fields[f].all().data, whole_.fields[f].all().data,
                                  whole_.fields[f].all().bytes()),
                      0);
    }

    std::vector<fs::path> parts(std::uint64_t step) const {
        std::vector<fs::path> all;
        for (const auto& entry : fs::directory_iterator(checkpoints() / cat("step-", step)))
            if (entry.path().filename().string().starts_with("part-")) all.push_back(entry.path());
        std::sort(all.begin(), all.end());
        return all;
    }

    std::set<std::string> names() const {
        std::set<std::string> all;
        for (const auto& entry : fs::directory_iterator(checkpoints()))
            all.insert(entry.path().filename().string());
        return all;
    }

    ScratchFolder folder_;
    model::ModelConfig config_ = small_config();
    WholeState whole_{specs_of(config_), 2};
};

TEST_F(SharedSave, IsReadBackForAnyNumberOfRanks) {
    for (const std::size_t ranks : {1, 2, 3, 8}) {
        for (const bool columns : {false, true}) {
            SCOPED_TRACE(cat(ranks, " ranks, columns cut: ", columns));
            validation::write_shared(checkpoints(), config_, whole_, shared(ranks, ranks, columns));

            const StoredModel stored = StoredModel::open(checkpoints());

            EXPECT_EQ(stored.step(), ranks);
            EXPECT_EQ(parts(ranks).size(), ranks);
            for (const int threads : {1, 2, 8}) expect_all(stored, threads);
            for (const auto& [tensor, updates] : stored.read_update_counts(whole_.views()))
                EXPECT_EQ(updates, ranks) << tensor;
            stored.verify();
        }
    }
}

// Reads columns 6 to 9 of rows 1 and 2 across the borders of the parts, into memory with gaps.
TEST_F(SharedSave, ReadsABoxAcrossPartBoundaries) {
    validation::write_shared(checkpoints(), config_, whole_, shared(3, 3, true));
    const std::string name = "transformer.h.0.mlp.c_fc.weight";
    const auto spec = std::ranges::find(whole_.specs, name, &model::ParameterSpec::name);
    ASSERT_EQ(spec->rows, 4U);
    std::array<float, 12> memory{};
    const device::Tensor place{memory.data(), device::DType::f32, 2, 4, 6};

    StoredModel::open(checkpoints())
        .read({{.tensor = name, .field = StateField::moment2, .box = {{1, 2}, {6, 4}}, .memory = place}}, 1);

    const auto all = whole_.fields[2][static_cast<std::size_t>(spec - whole_.specs.begin())].as<float>();
    for (std::size_t r = 0; r < 2; ++r)
        for (std::size_t c = 0; c < 6; ++c) EXPECT_EQ(memory[6 * r + c], c < 4 ? all(1 + r, 6 + c) : 0);
}

TEST_F(SharedSave, ShowsCompleteMomentsInTheModelFile) {
    write(3);

    const archive::hdf5::Handle file =
        archive::hdf5::open_read_only((checkpoints() / "step-3/model.h5").string());
    const archive::hdf5::Handle dataset(
        H5Dopen2(file.get(), cat("/moment2/", whole_.specs[1].name).c_str(), H5P_DEFAULT), H5Dclose);
    std::vector<float> found(whole_.specs[1].size());
    ASSERT_GE(H5Dread(dataset.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, found.data()), 0);

    for (std::size_t e = 0; e < found.size(); ++e)
        EXPECT_EQ(found[e], whole_.fields[2][1].flattened().as<float>()[e]);
}

// Tensors of a vision transformer have further axes, before the columns or after the rows.
TEST_F(SharedSave, ShowsTensorsOfMoreThanTwoAxesInTheModelFile) {
    const model::ModelConfig vit = [] {
        model::ModelConfig config = model::find_named_model("vit-tiny");
        config.layers = 1;
        config.width = 6;
        config.heads = 2;
        config.mlp_width = 8;
        config.labels = 3;
        return config;
    }();
    const WholeState whole(specs_of(vit), 0);
    const CheckpointState state = validation::shared_state(vit, whole, 3, 2);

    const fs::path path = validation::write_shared(checkpoints(), vit, whole, state);

    const archive::hdf5::Handle file = archive::hdf5::open_read_only(path / "model.h5");
    for (std::size_t p = 0; p < whole.specs.size(); ++p) {
        const archive::hdf5::Handle dataset(
            H5Dopen2(file.get(), cat("/parameters/", whole.specs[p].name).c_str(), H5P_DEFAULT), H5Dclose);
        std::vector<float> found(whole.specs[p].size());
        ASSERT_GE(H5Dread(dataset.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, found.data()), 0);
        EXPECT_TRUE(std::equal(found.begin(), found.end(), whole.fields[0][p].flattened().as<float>().data));
    }
}

// Each child process is killed one stage later than the one before, until one completes the save.
TEST_F(SharedSave, LeavesTheLastCompleteCheckpointIfKilledAtAnyStage) {
    write(3);
    int stages = 0;
    for (bool survived = false; !survived; ++stages) {
        SCOPED_TRACE(cat("killed before stage ", stages));
        fs::remove_all(checkpoints() / "step-4");
        folder_.write("checkpoints/latest", "step-3\n");
        const pid_t child = ::fork();
        if (child == 0) {
            int left = stages;
            write(4, 2, [&](SavePhase) {
                if (left-- == 0) ::raise(SIGKILL);
            });
            ::_exit(0);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        survived = WIFEXITED(status);

        const StoredModel stored = StoredModel::open(checkpoints());
        EXPECT_EQ(stored.step(), survived ? 4U : 3U);
        expect_all(stored);
        stored.verify();
        archive::remove_partial_entries(checkpoints());
        for (const std::string& name : names()) EXPECT_FALSE(name.starts_with(".")) << name;
    }
    EXPECT_EQ(stages, 2 * 5 + 5 + 1);  // 5 per part, 5 for the rest, and the child that completes
}

TEST_F(SharedSave, NamesADamagedPart) {
    write(3);
    const fs::path last = parts(3).back();
    const std::string whole = read_whole(last.string());
    const auto refusal = [&] {
        return catch_message<ConfigError>([&] { expect_all(StoredModel::open(checkpoints())); });
    };
    const float value = whole_.fields[1][0].flattened().as<float>()[19];  // in its last row
    std::string bytes = whole;
    const std::size_t at = bytes.find(std::string(reinterpret_cast<const char*>(&value), sizeof value));
    ASSERT_NE(at, std::string::npos);
    bytes[at] = static_cast<char>(bytes[at] ^ 4);
    folder_.write(fs::relative(last, folder_.file("")).string(), bytes);
    EXPECT_TRUE(
        says(refusal(), last.string() + " is damaged: the SHA-256 of /moment1/" + whole_.specs[0].name));
    EXPECT_TRUE(says(refusal(), "copy the checkpoint again, or use another one"));

    folder_.write(fs::relative(last, folder_.file("")).string(), whole.substr(0, whole.size() - 100));
    EXPECT_TRUE(says(refusal(), last.string() + " is cut short, damaged or not an HDF5 file"));

    fs::copy_file(parts(3).front(), last, fs::copy_options::overwrite_existing);
    EXPECT_TRUE(says(refusal(), last.string() + " is from another save than its name and state.json say"));
}

TEST_F(SharedSave, RejectsPartsWithDifferentUpdateCounts) {
    CheckpointState state = shared(3, 2);
    for (std::size_t p = 0; p < 2; ++p) {
        const PartLayout layout(state, p);
        const PartWriter writer(make_save_folder(checkpoints(), state), state, layout,
                                validation::make_update_counts(whole_, 5 + p));
        writer.write([&, bytes = std::vector<std::byte>()](std::size_t b, layout::Range rows) mutable {
            const StateBox box = list_boxes(state, state.parts[p])[b];
            bytes.resize(byte_size(state, {box.tensor, box.field, {rows, box.box.columns}}));
            return std::span<const std::byte>(bytes);
        });
    }
    complete_checkpoint(checkpoints(), state, VirtualModelFile(state),
                        validation::description_of(config_, whole_));

    const auto updates = [&] { StoredModel::open(checkpoints()).read_update_counts(whole_.views()); };
    EXPECT_TRUE(says(catch_message<ConfigError>(updates), " with 5 and with 6 optimizer updates"));
}

TEST_F(SharedSave, KeepsTheNewestAndTheOneNamedByLatest) {
    for (const std::uint64_t step : {2, 10, 4, 6}) write(step);

    remove_old_checkpoints(checkpoints(), 0);
    EXPECT_EQ(names().size(), 5U);
    remove_old_checkpoints(checkpoints(), 2);

    EXPECT_EQ(names(), (std::set<std::string>{"latest", "step-10", "step-6"}));
    EXPECT_EQ(StoredModel::open(checkpoints()).step(), 6U);
}

// A process may end while it removes the oldest checkpoint. The hidden remains are no checkpoint.
TEST_F(SharedSave, RemovesTheRemainsOfAPartlyRemovedCheckpoint) {
    write(2);
    write(4);
    fs::rename(checkpoints() / "step-2", checkpoints() / ".step-2.partial-0123abcd");

    archive::remove_partial_entries(checkpoints());

    EXPECT_EQ(names(), (std::set<std::string>{"latest", "step-4"}));
}

// A limit on the size of files stands for a full disk. The disk is full at different stages of the save.
TEST_F(SharedSave, ReportsAFullDiskAndKeepsThePreviousCheckpoint) {
    write(3);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    for (const SavePhase full_at : {SavePhase::layout, SavePhase::data, SavePhase::model, SavePhase::latest}) {
        const std::string message = catch_message<ResourceError>([&] {
            write(4, 2, [&](SavePhase stage) {
                const rlim_t most = stage == SavePhase::latest ? 1 : 8192;
                const rlimit full{.rlim_cur = most, .rlim_max = before.rlim_max};
                if (stage == full_at) {
                    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
                }
            });
        });
        ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
        EXPECT_TRUE(says(message, "cannot be written: File too large; raise the limit"));
        EXPECT_EQ(StoredModel::open(checkpoints()).step(), 3U);
    }
    std::signal(SIGXFSZ, handler);
    expect_all(StoredModel::open(checkpoints()));
}

}  // namespace
}  // namespace trireme::checkpoint
