# One image for each program, chosen by PROGRAM:
#
#   docker build --build-arg PROGRAM=cluster-health -t karmada-one/cluster-health:0.1.0 .
#
# The program is linked statically, and the image holds nothing else but the certificate authorities of the web.
FROM rust:1.95-alpine AS build
RUN apk add --no-cache build-base ca-certificates
WORKDIR /source
COPY . .
ARG PROGRAM
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/target \
    cargo build --release --locked --target-dir /target --bin "$PROGRAM" \
    && install -D "/target/release/$PROGRAM" /out/program

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/program /program
USER 65532:65532
ENTRYPOINT ["/program"]
