//! `/files` in the OpenAPI document.

use files::change::ChangeData;
use serde_json::json;
use toolkit::openapi::{ApiDocument, answer, named, refusal, schema};
use utoipa::openapi::path::{HttpMethod, OperationBuilder, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::{ContentBuilder, Header, Required, Response, ResponseBuilder};

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
        response.content(BYTES, content).build()
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
    let body = ContentBuilder::new().schema(Some(bytes())).build();
    let body = RequestBodyBuilder::new().required(Some(Required::True)).content(BYTES, body).build();
    let stored = |about: &str| {
        answer(about, named("FileUploadResult"))
            .header("ETag", text_header("The SHA-256 of the new file, in quotes."))
            .build()
    };
    let operation = operation("putFile", "Upload a file", ABOUT_PUT)
        .parameter(header("If-Match", "Replace the file only if its ETag is one of these."))
        .parameter(header("If-None-Match", "`*`: create the file, and replace none."))
        .request_body(Some(body))
        .response("200", stored("The file has the new content."))
        .response("201", stored("The file was created."))
        .response("408", refusal(408))
        .response("415", refusal(415));
    refusals(operation)
}

fn operation(id: &str, summary: &str, about: &str) -> OperationBuilder {
    let path = ParameterBuilder::new()
        .name("path")
        .parameter_in(ParameterIn::Query)
        .required(Required::True)
        .description(Some("The file, absolute or relative to the first root."))
        .schema(Some(schema(json!({"type": "string"}))));
    OperationBuilder::new()
        .operation_id(Some(id))
        .tag("files")
        .summary(Some(summary))
        .description(Some(about))
        .parameter(path)
}

/// What a file that is not there, not allowed or not a file is answered with.
fn refusals(operation: OperationBuilder) -> OperationBuilder {
    let not_found = "There is no such file: NOT_FOUND, NOT_A_DIRECTORY.";
    let conflict = "CONFLICT, NOT_READ, IS_DIRECTORY, NOT_A_REGULAR_FILE.";
    operation
        .response("400", refusal(400))
        .response("401", refusal(401))
        .response("403", refusal(403))
        .response("404", failure(not_found))
        .response("409", failure(conflict))
        .response("412", failure("A condition does not hold: CONFLICT."))
        .response("413", failure("The file is too large: PAYLOAD_TOO_LARGE."))
        .response("500", refusal(500))
        .response("503", refusal(503))
        .response("504", refusal(504))
}

fn failure(about: &str) -> Response {
    answer(about, named("ToolFailure")).build()
}

fn bytes() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
    schema(json!({"type": "string", "format": "binary"}))
}

fn header(name: &str, about: &str) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .description(Some(about))
        .schema(Some(schema(json!({"type": "string"}))))
        .build()
}

fn text_header(about: &str) -> Header {
    let mut header = Header::new(schema(json!({"type": "string"})));
    header.description = Some(about.to_owned());
    header
}
