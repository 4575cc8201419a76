#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "error_message.hpp"
#include "tools/inspect/excerpts.hpp"
#include "trireme/archive/float_types.hpp"
#include "trireme/base/error.hpp"
#include "trireme/checkpoint/stored_model.hpp"
#include "trireme/tools/stored_files.hpp"
#include "unit/checkpoint/small_model.hpp"

namespace trireme::tools {
namespace {

namespace fs = std::filesystem;
using validation::catch_message;
using validation::read_whole;
using validation::says;
using validation::ScratchFolder;

class Convert : public testing::Test {
protected:
    Convert() { fs::create_directory(path("model")); }

    std::string path(const std::string& name) const { return folder_.file(name); }

    std::string run(ConvertConfig config) const {
        config.input = path(config.input);
        config.output = path(config.output);
        std::ostringstream out;
        convert(config, out);
        return out.str();
    }
    std::string run(const std::string& input, const std::string& output) const {
        ConvertConfig config;
        config.input = input;
        config.output = output;
        return run(config);
    }
    std::string refusal(const std::string& input, const std::string& output) const {
        return catch_message<ConfigError>([&] { run(input, output); });
    }

    // Writes the model in `type`, with pseudo-random bytes as values.
    void write_model_of(archive::StoredType type) const {
        folder_.write("model/config.json", to_config_json(config_));
        std::vector<archive::StoredTensor> tensors;
        for (const model::ParameterSpec& spec : specs_) {
            tensors.emplace_back();
            tensors.back().name = spec.name;
            tensors.back().type = type;
            tensors.back().shape.assign(spec.shape.begin(), spec.shape.end());
        }
        archive::SafetensorsWriter writer(path("model/model.safetensors"), tensors, {{"format", "pt"}});
        unsigned next = 1;
        for (const archive::StoredTensor& tensor : writer.tensors()) {
            std::vector<std::byte> bytes(tensor.count_bytes());
            for (std::byte& byte : bytes)
                byte = static_cast<std::byte>((next = next * 1103515245 + 12345) >> 8);
            writer.write(bytes);
        }
        writer.finish();
    }

    std::map<std::string, std::string> files(const std::string& folder) const {
        std::map<std::string, std::string> all;
        for (const fs::directory_entry& entry : fs::directory_iterator(path(folder)))
            all[entry.path().filename().string()] = read_whole(entry.path().string());
        return all;
    }

    ScratchFolder folder_;
    model::ModelConfig config_ = checkpoint::small_config();
    std::vector<model::ParameterSpec> specs_ = checkpoint::specs_of(config_);
};

TEST_F(Convert, ReproducesTheFileInARoundTrip) {
    for (const archive::StoredType type : {archive::StoredType::f32, archive::StoredType::bf16,
                                           archive::StoredType::f16, archive::StoredType::f64}) {
        write_model_of(type);

        run("model", "checkpoints");
        run("checkpoints", "back");

        EXPECT_EQ(files("back").at("model.safetensors"), files("model").at("model.safetensors"))
            << to_string(type);
        EXPECT_EQ(checkpoint::StoredModel::open(path("back")).config(), config_);
        EXPECT_TRUE(says(files("back").at("config.json"), torch_type_name(type)));
        fs::remove_all(path("checkpoints"));
        fs::remove_all(path("back"));
    }
}

TEST_F(Convert, WritesShardsWithTheSameTensors) {
    write_model_of(archive::StoredType::f32);
    run("model", "checkpoints");
    ConvertConfig config;
    config.input = "checkpoints";
    config.output = "shards";
    config.shard_bytes = 300;

    run(config);
    run("shards", "again");
    run("again", "single");

    EXPECT_TRUE(fs::exists(path("shards/model-00001-of-00007.safetensors")));
    EXPECT_TRUE(says(files("shards").at("model.safetensors.index.json"), "\n  \"metadata\": {\n"));
    EXPECT_EQ(files("single").at("model.safetensors"), files("model").at("model.safetensors"));
}

TEST_F(Convert, CopiesTheTokenizerFiles) {
    write_model_of(archive::StoredType::f32);
    folder_.write("model/tokenizer.json", "{ \"a\":1}\n");
    folder_.write("model/generation_config.json", "{\"eos_token_id\": 7}");

    run("model", "checkpoints");
    run("checkpoints", "back");

    EXPECT_EQ(files("back").at("tokenizer.json"), "{ \"a\":1}\n");
    EXPECT_EQ(files("back").at("generation_config.json"), "{\"eos_token_id\": 7}");
}

TEST_F(Convert, ChangesTheTypeOfExportsOnly) {
    write_model_of(archive::StoredType::f32);
    run("model", "checkpoints");
    ConvertConfig config;
    config.input = "checkpoints";
    config.output = "half";
    config.dtype = archive::StoredType::bf16;

    run(config);

    EXPECT_EQ(checkpoint::StoredModel::open(path("half")).find_original_type(specs_[0]),
              archive::StoredType::bf16);
    config.input = "model";
    config.output = "none";
    EXPECT_TRUE(says(catch_message<ConfigError>([&] { run(config); }), "--dtype sets the type of an export"));
}

TEST_F(Convert, SaysWhatItDid) {
    write_model_of(archive::StoredType::bf16);

    const std::string there = run("model", "checkpoints");
    const std::string back = run("checkpoints", "back");

    const std::string sum = cat(specs_.size(), " tensors, ", count_parameters(config_), " parameters");
    EXPECT_TRUE(
        says(there, path("checkpoints/step-0") + " holds " + sum + ", converted from " + path("model")));
    EXPECT_TRUE(says(back, " as BF16 in 1 file, converted from " + path("checkpoints/step-0")));
}

TEST_F(Convert, NeverReplacesAConvertedCheckpoint) {
    write_model_of(archive::StoredType::f32);
    run("model", "checkpoints");
    const auto before = files("checkpoints/step-0");

    EXPECT_TRUE(says(refusal("model", "checkpoints"),
                     "checkpoints already holds latest; empty that folder or name another"));
    EXPECT_EQ(files("checkpoints/step-0"), before);
}

TEST_F(Convert, FillsAnEmptyFolderInPlace) {
    write_model_of(archive::StoredType::f32);
    run("model", "checkpoints");
    fs::create_directory(path("mount"));
    fs::create_directory_symlink("mount", path("link"));

    run("checkpoints", "link");

    EXPECT_TRUE(fs::is_symlink(path("link")));
    EXPECT_EQ(files("mount").at("model.safetensors"), files("model").at("model.safetensors"));
    EXPECT_EQ(files("mount").size(), 2U);
}

TEST_F(Convert, LeavesOutputsWithOtherContentsUnchanged) {
    write_model_of(archive::StoredType::f32);
    run("model", "checkpoints");
    fs::create_directory(path("full"));
    folder_.write("full/notes.txt", "mine");
    fs::create_directories(path("run/step-7"));

    EXPECT_TRUE(says(refusal("model", "full"), "full already holds notes.txt"));
    EXPECT_TRUE(says(refusal("model", "run"), "run already holds step-7"));
    EXPECT_TRUE(says(refusal("model", "model"), "model already holds "));
    EXPECT_TRUE(says(refusal("checkpoints", "full"), "full already holds notes.txt"));
    EXPECT_TRUE(says(refusal("checkpoints", "full/notes.txt"), "notes.txt cannot be written: Not a directory"));
    EXPECT_TRUE(says(refusal("model", "full/notes.txt"), "cannot be written"));
    EXPECT_TRUE(says(refusal("model", std::string(5000, 'x')), "cannot be written: File name too long"));
    EXPECT_EQ(files("full"), (std::map<std::string, std::string>{{"notes.txt", "mine"}}));
}

TEST_F(Convert, WritesNothingIfTheInputIsBroken) {
    write_model_of(archive::StoredType::f32);
    run("model", "checkpoints");
    fs::remove(path("checkpoints/step-0/config.json"));

    EXPECT_TRUE(says(refusal("checkpoints", "back"), "config.json"));
    EXPECT_FALSE(fs::exists(path("back")));
}

using InspectModel = Convert;

TEST_F(InspectModel, DescribesCheckpointsAndHuggingFaceModels) {
    write_model_of(archive::StoredType::bf16);
    run("model", "checkpoints");
    const auto described = [&](const std::string& name) {
        std::ostringstream out;
        inspect_weights(path(name), true, out);
        return out.str();
    };

    const std::string checkpoint = described("checkpoints");
    EXPECT_TRUE(says(checkpoint, "checkpoints/step-0 is a Trireme checkpoint\n"));
    EXPECT_TRUE(says(checkpoint, "model       gpt2, 1 layer, width 4, 2 heads, MLP width 16"));
    EXPECT_TRUE(says(checkpoint, "  BF16  5 x 4\n"));
    EXPECT_TRUE(says(checkpoint, "verified: every tensor has its recorded SHA-256"));
    EXPECT_TRUE(says(described("model"), " is a Hugging Face model\n"));
    fs::remove(path("model/config.json"));
    EXPECT_TRUE(says(described("model/model.safetensors"), "is a safetensors file; its model is unknown"));
    EXPECT_TRUE(says(described("model/model.safetensors"), "format      pt\n"));
}

TEST_F(InspectModel, RemovesControlCharactersFromNames) {
    std::vector<archive::StoredTensor> tensors(2);
    tensors[0].name = "a\x1B[31m\nb";
    tensors[1].name = std::string(100'000, 'x');
    archive::SafetensorsWriter writer(path("odd.safetensors"), tensors, {{"for\x1Bmat", "p\x1Bt"}});
    const std::vector<std::byte> value(4);
    for (std::size_t i = 0; i < tensors.size(); ++i) writer.write(value);
    writer.finish();
    std::ostringstream out;

    inspect_weights(path("odd.safetensors"), false, out);

    EXPECT_TRUE(says(out.str(), "  for.mat     p.t\n"));
    EXPECT_TRUE(says(out.str(), "  a.[31m.b "));
    EXPECT_LT(out.str().size(), 2000U);
}

TEST_F(InspectModel, NamesTheModelThatAFileBelongsTo) {
    write_model_of(archive::StoredType::f32);
    run("model", "checkpoints");

    for (const char* file :
         {"checkpoints/latest", "checkpoints/step-0/model.h5", "checkpoints/step-0/config.json"}) {
        std::ostringstream out;
        EXPECT_TRUE(says(catch_message<ConfigError>([&] { inspect(path(file), false, out); }),
                         cat(file, " is a file of a model; show the complete model with `trireme inspect ",
                             path("checkpoints/step-0"))));
    }
}

TEST_F(InspectModel, RejectsPipesWithoutWaiting) {
    for (const char* name : {"pipe", "pipe.safetensors"}) {
        ASSERT_EQ(::mkfifo(path(name).c_str(), 0600), 0);
        std::ostringstream out;
        EXPECT_TRUE(says(catch_message<ConfigError>([&] { inspect(path(name), false, out); }),
                         "is not a regular file (it is a FIFO)"));
    }
    std::ostringstream out;
    EXPECT_TRUE(
        says(catch_message<ConfigError>([&] { inspect(std::string(5000, 'x') + ".safetensors", false, out); }),
             "File name too long"));
}

}  // namespace
}  // namespace trireme::tools
