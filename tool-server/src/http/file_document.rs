//! `/files` in the OpenAPI document.

use files::change::ChangeData;
use serde_json::json;
use toolkit::openapi::{ApiDocument, answer, body, failure, named, parameter, schema, with_refusals};
use utoipa::openapi::path::{HttpMethod, OperationBuilder, Parameter, ParameterIn};
use utoipa::openapi::{ContentBuilder, Header, RefOr, Required, Response, ResponseBuilder, Schema};

const PATH: &str = "/files";

const BYTES: &str = "application/octet-stream";

const ABOUT_GET: &str = "Sends a file as it is; secrets in it are not redacted. The `ETag` is its SHA-256. \
     It counts as a read of the file: the session may change it afterwards. A file that changes while it is \
     sent ends the connection early.";

const ABOUT_HEAD: &str = "The headers of a GET without the file. It does not count as a read.";

const ABOUT_PUT: &str = "Stores the body as a file, with the directories that are missing. The file appears \
     as a whole or not at all. `If-Match` names the SHA-256 that is replaced, and `If-None-Match: *` \
     creates. Without either, an existing file must have been read in the session, as for `write`.";

pub(super) fn add_to(document: &mut ApiDocument) {
    document.add_result_of::<ChangeData>("FileUpload", &["success"]);
    document.add_operation(PATH, HttpMethod::Get, download("getFile", "Download a file", ABOUT_GET, true));
    document.add_operation(PATH, HttpMethod::Head, download("headFile", "Look at a file", ABOUT_HEAD, false));
    document.add_operation(PATH, HttpMethod::Put, upload());
}

fn download(id: &str, summary: &str, about: &str, has_body: bool) -> OperationBuilder {
    let with_file = |response: ResponseBuilder| {
        let response = response.header("ETag", text_header("The SHA-256 of the whole file, in quotes."));
        if !has_body {
            return response.build();
        }
        let content = ContentBuilder::new().schema(Some(bytes())).build();
        // The type is that of the file. The one by name is for generators of clients that know no other.
        response.content(BYTES, content.clone()).content("*/*", content).build()
    };
    let whole = with_file(ResponseBuilder::new().description("The whole file."));
    let operation = operation(id, summary, about)
        .parameter(header("If-Match", "Send the file only if its ETag is one of these."))
        .parameter(header("If-None-Match", "Answer 304 if its ETag is one of these."))
        .response("200", whole)
        .response("304", Response::new("The caller has this file already."));
    let operation = if has_body {
        let part = ResponseBuilder::new()
            .description("The part that `Range` asked for.")
            .header("Content-Range", text_header("Which part of how many bytes this is."));
        operation
            .parameter(header("Range", "One range, such as `bytes=0-1023`."))
            .parameter(header("If-Range", "Send the whole file unless its ETag is this."))
            .response("206", with_file(part))
            .response("416", failure("The range is beyond the end of the file."))
    } else {
        operation
    };
    refusals(operation)
}

fn upload() -> OperationBuilder {
    let stored = |about: &str| {
        answer(about, named("FileUploadResult"))
            .header("ETag", text_header("The SHA-256 of the new file, in quotes."))
            .build()
    };
    let operation = operation("putFile", "Upload a file", ABOUT_PUT)
        .parameter(header("If-Match", "Replace the file only if its ETag is one of these."))
        .parameter(header("If-None-Match", "`*`: create the file, and replace none."))
        .request_body(Some(body(BYTES, bytes(), Required::True)))
        .response("200", stored("The file has the new content."))
        .response("201", stored("The file was created."));
    refusals(with_refusals(operation, [408, 415]))
}

fn operation(id: &str, summary: &str, about: &str) -> OperationBuilder {
    let path = "The file, absolute or relative to the first root.";
    toolkit::openapi::operation("files", id, summary, about)
        .parameter(parameter(ParameterIn::Query, "path", path).required(Required::True))
}

/// What a file that is not there, not allowed or not a file is answered with.
fn refusals(operation: OperationBuilder) -> OperationBuilder {
    let operation = operation
        .response("404", failure("There is no such file: NOT_FOUND, NOT_A_DIRECTORY."))
        .response("409", failure("CONFLICT, NOT_READ, IS_DIRECTORY, NOT_A_REGULAR_FILE."))
        .response("412", failure("A condition does not hold: CONFLICT."))
        .response("413", failure("The file is too large: PAYLOAD_TOO_LARGE."));
    with_refusals(operation, [400, 401, 403, 500, 503, 504])
}

fn bytes() -> RefOr<Schema> {
    schema(json!({"type": "string", "format": "binary"}))
}

fn header(name: &str, about: &str) -> Parameter {
    parameter(ParameterIn::Header, name, about).build()
}

fn text_header(about: &str) -> Header {
    let mut header = Header::new(schema(json!({"type": "string"})));
    header.description = Some(about.to_owned());
    header
}
