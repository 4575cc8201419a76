// Tests reading of Hugging Face's model folders.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/checkpoint/stored_model.hpp"
#include "unit/checkpoint/small_model.hpp"

namespace trireme::checkpoint {
namespace {

using validation::catch_message;
using validation::says;
using validation::ScratchFolder;
using Names = std::vector<std::string>;

class HuggingFaceModel : public testing::Test {
protected:
    std::string refusal() const {
        return catch_message<ConfigError>(
            [&] { check_parameters(StoredModel::open(folder_.file("")), specs_); });
    }

    // Writes two shards; the second has the last tensor. The index calls the second one `second_name`.
    void write_shards(const std::string& second_name) {
        folder_.write("config.json", to_config_json(config_));
        write_safetensors(folder_.file("one.safetensors"), {tensors_.begin(), tensors_.end() - 1});
        write_safetensors(folder_.file("two.safetensors"), {tensors_.back()});
        std::string map;
        for (const FileTensor& tensor : tensors_) {
            const bool is_last = tensor.name == tensors_.back().name;
            map += cat(map.empty() ? "" : ",", '"', tensor.name, "\":\"",
                       is_last ? second_name : "one.safetensors", '"');
        }
        folder_.write("model.safetensors.index.json", "{\"metadata\":{},\"weight_map\":{" + map + "}}");
    }

    void expect_values_of(const std::string& path) {
        const StoredModel stored = StoredModel::open(path);
        const model::ParameterTensors values(specs_, device::DType::f64, device::MemorySpace::host);
        const LoadReport report = load_parameters(stored, specs_, values);
        EXPECT_TRUE(report.missing_parameters.empty());
        EXPECT_EQ(report.unused_tensors, Names{});
        for (std::size_t i = 0; i < specs_.size(); ++i) {
            const auto found = values[i].flattened().as<double>();
            for (std::size_t e = 0; e < specs_[i].size(); ++e)
                ASSERT_EQ(found[e], static_cast<double>(1000 * i + e)) << specs_[i].name;
        }
    }

    ScratchFolder folder_;
    model::ModelConfig config_ = small_config();
    std::vector<model::ParameterSpec> specs_ = specs_of(config_);
    std::vector<FileTensor> tensors_ = counted_tensors(specs_);
};

TEST_F(HuggingFaceModel, IsReadFromAFolderAndFromItsFile) {
    write_model(folder_, config_, tensors_);
    folder_.write("tokenizer.json", "{}");

    expect_values_of(folder_.file(""));
    expect_values_of(folder_.file("model.safetensors"));

    const StoredModel stored = StoredModel::open(folder_.file(""));
    EXPECT_FALSE(stored.is_checkpoint());
    EXPECT_EQ(stored.config(), small_config());
    EXPECT_EQ(stored.step(), 0U);
    EXPECT_EQ(stored.tokenizer(), "{}");
    EXPECT_EQ(stored.find_original_type(specs_[0]), archive::StoredType::f32);
}

TEST_F(HuggingFaceModel, IsReadFromShards) {
    write_shards("two.safetensors");

    expect_values_of(folder_.file(""));
}

TEST_F(HuggingFaceModel, IsReadFromTensorNamesWithoutPrefix) {
    for (FileTensor& tensor : tensors_) tensor.name = tensor.name.substr(std::string("transformer.").size());
    tensors_.push_back({"h.0.attn.bias", {1, 1, 3, 3}, std::vector<float>(9)});
    tensors_.push_back({"lm_head.weight", {5, 4}, std::vector<float>(20)});
    write_model(folder_, config_, tensors_);

    expect_values_of(folder_.file(""));
}

TEST_F(HuggingFaceModel, ReportsUnusedTensors) {
    tensors_.push_back({"classifier.weight", {2}, {1, 2}});
    write_model(folder_, config_, tensors_);

    EXPECT_EQ(check_parameters(StoredModel::open(folder_.file("")), specs_).unused_tensors,
              Names{"classifier.weight"});
}

TEST_F(HuggingFaceModel, MayLackParametersOfTheHead) {
    write_model(folder_, config_, tensors_);
    model::ParameterSpec head = make_vector_spec("classifier.bias", 2, model::Init::zeros);
    head.belongs_to_head = true;
    specs_.push_back(head);

    EXPECT_EQ(check_parameters(StoredModel::open(folder_.file("")), specs_).missing_parameters,
              Names{"classifier.bias"});
}

TEST_F(HuggingFaceModel, IsRejectedIfItLacksOtherParameters) {
    tensors_.erase(tensors_.begin(), tensors_.begin() + 5);
    write_model(folder_, config_, tensors_);

    const std::string message = refusal();

    EXPECT_TRUE(
        says(message, cat("lacks 5 of the model's ", specs_.size(), " parameters: transformer.wte.weight, ")));
    EXPECT_TRUE(says(message, " and 2 more; choose the model"));
}

TEST_F(HuggingFaceModel, NamesBothShapesIfATensorDoesNotFit) {
    tensors_[0].shape = {4, 5};
    write_model(folder_, config_, tensors_);

    EXPECT_TRUE(
        says(refusal(), "transformer.wte.weight of " + folder_.file("model.safetensors") +
                            " has the shape (4, 5), but the model's transformer.wte.weight has (5, 4)"));
}

TEST_F(HuggingFaceModel, IsRejectedIfWeightsAreIntegers) {
    write_model(folder_, config_, {tensors_.begin() + 1, tensors_.end()});
    std::string file = validation::read_whole(folder_.file("model.safetensors"));
    file.replace(file.find("F32"), 3, "I32");
    folder_.write("model.safetensors", file);

    EXPECT_TRUE(says(refusal(), "has the type I32, but weights must be F64, F32, F16 or BF16"));
}

TEST_F(HuggingFaceModel, NamesAMissingShard) {
    write_shards("two.safetensors");
    std::filesystem::remove(folder_.file("two.safetensors"));

    EXPECT_TRUE(says(refusal(), "model.safetensors.index.json names 'two.safetensors', which is missing"));
}

TEST_F(HuggingFaceModel, IsRejectedIfATensorIsNotInItsIndexedShard) {
    write_shards("one.safetensors");

    EXPECT_TRUE(says(refusal(), "one.safetensors has no tensor '" + tensors_.back().name));
}

TEST_F(HuggingFaceModel, IsRejectedIfItsIndexNamesFilesOutsideItsFolder) {
    for (const char* outside : {"../two.safetensors", "/etc/passwd", "..", "", "a/b.safetensors"}) {
        write_shards(outside);

        EXPECT_TRUE(says(refusal(), "which is not the name of a file in the index's folder")) << outside;
    }
}

TEST_F(HuggingFaceModel, NamesAnInvalidIndex) {
    write_shards("two.safetensors");
    for (const char* text : {"[]", "{\"weight_map\": 1}"}) {
        folder_.write("model.safetensors.index.json", text);

        EXPECT_TRUE(says(refusal(), "model.safetensors.index.json is not an index of safetensors files"))
            << text;
    }
    for (const char* text : {"", "{\"weight_map\": {\"a\": "}) {
        folder_.write("model.safetensors.index.json", text);

        EXPECT_TRUE(says(refusal(), "model.safetensors.index.json is not valid JSON")) << text;
    }
}

TEST_F(HuggingFaceModel, IsRejectedIfItsIndexIsNestedTooDeep) {
    write_shards("two.safetensors");
    const std::size_t levels = 2'000'000;
    for (const std::string& deep :
         {std::string(levels, '[') + std::string(levels, ']'), std::string("[[1]]")}) {
        folder_.write("model.safetensors.index.json", "{\"weight_map\": {\"a\": " + deep + "}}");

        EXPECT_TRUE(says(refusal(), deep.size() > levels ? "index.json is nested deeper than 64 levels"
                                                         : "assigns the tensor 'a' to a value of type array"));
    }
}

TEST_F(HuggingFaceModel, IsRejectedIfAFileNameIsUnusable) {
    write_shards(std::string(5000, 'x'));
    EXPECT_TRUE(says(refusal(), "cannot be read: File name too long"));
    EXPECT_TRUE(says(catch_message<ConfigError>([] { StoredModel::open(std::string(5000, 'x')); }),
                     "xxx...' cannot be read: File name too long"));
    std::filesystem::create_symlink("loop", folder_.file("loop"));
    EXPECT_TRUE(says(catch_message<ConfigError>([&] { StoredModel::open(folder_.file("loop")); }),
                     "loop' cannot be read: Too many levels of symbolic links"));
}

TEST_F(HuggingFaceModel, IsRejectedIfAFileIsAFifo) {
    write_model(folder_, config_, tensors_);
    for (const char* name : {"tokenizer.json", "model.safetensors", "config.json"}) {
        std::filesystem::remove(folder_.file(name));
        ASSERT_EQ(::mkfifo(folder_.file(name).c_str(), 0600), 0);

        EXPECT_TRUE(says(refusal(), cat(name, " is not a regular file (it is a FIFO)")));

        std::filesystem::remove(folder_.file(name));
        write_model(folder_, config_, tensors_);
    }
}

TEST_F(HuggingFaceModel, IsRejectedIfItsTokenizerFileIsTooLarge) {
    write_model(folder_, config_, tensors_);
    folder_.write("tokenizer.json", "{");
    std::filesystem::resize_file(folder_.file("tokenizer.json"), std::uintmax_t{1} << 40);

    EXPECT_TRUE(says(refusal(),
                     "tokenizer.json has 1099511627776 bytes, but no file of its kind has more than 268435"));
}

TEST_F(HuggingFaceModel, NamesATruncatedShard) {
    write_shards("two.safetensors");
    std::filesystem::resize_file(folder_.file("one.safetensors"),
                                 std::filesystem::file_size(folder_.file("one.safetensors")) - 1);

    EXPECT_TRUE(says(refusal(), "one.safetensors"));
    EXPECT_TRUE(says(refusal(), "is cut short"));
}

TEST_F(HuggingFaceModel, SaysWhyAPathHoldsNoModel) {
    EXPECT_TRUE(says(refusal(), "holds no model: there is neither a checkpoint nor model.safetensors in it"));
    folder_.write("pytorch_model.bin", "");
    EXPECT_TRUE(says(refusal(), "pytorch_model.bin is in PyTorch's own format"));
    EXPECT_TRUE(says(catch_message<ConfigError>([] { StoredModel::open("/nowhere"); }),
                     "the model /nowhere does not exist"));
    EXPECT_TRUE(says(catch_message<ConfigError>([&] { StoredModel::open(folder_.file("pytorch_model.bin")); }),
                     "pytorch_model.bin is not a model"));
    write_safetensors(folder_.file("model.safetensors"), tensors_);
    EXPECT_TRUE(says(refusal(), "there is no config.json next to"));
}

}  // namespace
}  // namespace trireme::checkpoint
